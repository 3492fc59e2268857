# The demo's application: shop-front, -catalog, -cart, -order, -price, shop-load and shop-neighbour.

shop_services := front catalog cart order price
shop_shared   := service peer crew cache dbpool goods text
shop_objects   = $(patsubst %,$O/examples/shop/%.o,$1 $(shop_$1_more) $(shop_shared))
shop_order_more := history journal receipts
shop_libs     := -lmicrohttpd -lcurl -lhiredis -lpq -llttng-ust -ldl

$O/examples/shop/%.o: CFLAGS_ALL += $(shell pkg-config --cflags libpq)

define shop_service
$O/examples/shop/shop-$1: $(call shop_objects,$1) $O/lib/libhone.so
	$$(CC) -o $$@ $$(filter %.o,$$^) $$(LDFLAGS_ALL) -L$O/lib -lhone -Wl,-rpath,'$$$$ORIGIN/../../lib' $(shop_libs)
endef
$(foreach s,$(shop_services),$(eval $(call shop_service,$s)))

$O/examples/shop/shop-load: $O/examples/shop/shop_load.o $O/examples/load.o
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -lcurl -lm

$O/examples/shop/shop-neighbour: $O/examples/shop/neighbour.o
	$(CC) -o $@ $^ $(LDFLAGS_ALL)

shop: $(shop_services:%=$O/examples/shop/shop-%) $O/examples/shop/shop-load $O/examples/shop/shop-neighbour
.PHONY: shop
