# The C service of the shop with OpenTelemetry; its HTTP server is that of examples/shop.
$O/examples/otel/otel-stock: $O/examples/otel/stock.o $O/examples/shop/service.o $O/examples/shop/text.o $O/lib/libhone.so
	$(CC) -o $@ $(filter %.o,$^) $(LDFLAGS_ALL) -L$O/lib -lhone -Wl,-rpath,'$$ORIGIN/../../lib' -lmicrohttpd -llttng-ust -ldl

otel-stock: $O/examples/otel/otel-stock
.PHONY: otel-stock
