# SPDX-License-Identifier: MIT
# The module for nginx, built by nginx's own configure with the flags of this machine's nginx package (nginx-dev).
# For another nginx: make nginx NGINX_SRC=dir, its source tree, with its configure flags in NGINX_FLAGS.

NGINX_SRC   ?= /usr/share/nginx/src
NGINX_DIR   := $O/nginx
NGINX_FILES := $(wildcard instrument/nginx/*.[ch])
NGINX_FLAGS ?= $${NGX_CONF_FLAGS[@]}

ifneq ($(wildcard $(NGINX_SRC)/configure),)
nginx: $O/lib/hone/ngx_http_hone_module.so
ifeq ($(SAN),)
install: install-nginx
endif	# an nginx without sanitizers cannot load a module that has them, unless the sanitizer is preloaded
else
nginx:
	@echo "nginx: module not built: $(NGINX_SRC) does not exist (Debian: apt-get install nginx-dev)" >&2
endif
ifeq ($(SAN),)
all: nginx
endif

# configure must run in the source folder and writes to it, so it runs in a folder of symbolic links to the sources.
$(NGINX_DIR)/objs/Makefile: instrument/nginx/config $(wildcard $(NGINX_SRC)/conf_flags) $O/lib/libhone.so
	@rm -rf $(NGINX_DIR) && mkdir -p $(NGINX_DIR)
	@for f in $(abspath $(NGINX_SRC))/*; do ln -s "$$f" $(NGINX_DIR)/; done
	@cd $(NGINX_DIR) && bash -c '[ ! -e conf_flags ] || . ./conf_flags; ./configure "$(NGINX_FLAGS)" \
	    --with-cc-opt="-O2 -g $(CFLAGS) -Wno-error $(SAN:%=-fsanitize=%) -I$(CURDIR)" \
	    --with-ld-opt="$(SAN:%=-fsanitize=%) -L$(abspath $O)/lib -Wl,-rpath,\\\$$\$$ORIGIN/.. -Wl,-z,nodelete $(LDFLAGS)" \
	    --add-dynamic-module=$(CURDIR)/instrument/nginx' >configure.log 2>&1 || { tail -n 20 configure.log >&2; exit 1; }

$O/lib/hone/ngx_http_hone_module.so: $(NGINX_DIR)/objs/Makefile $(NGINX_FILES) instrument/hone.h
	@mkdir -p $(@D)
	@$(MAKE) --no-print-directory -C $(NGINX_DIR) -f objs/Makefile modules >$(NGINX_DIR)/make.log 2>&1 || \
	    { cat $(NGINX_DIR)/make.log >&2; exit 1; }
	@! grep -A4 'instrument/nginx/.*warning:' $(NGINX_DIR)/make.log >&2
	cp $(NGINX_DIR)/objs/ngx_http_hone_module.so $@

install-nginx: nginx
	install -Dm755 $O/lib/hone/ngx_http_hone_module.so $(DESTDIR)$(PREFIX)/lib/hone/ngx_http_hone_module.so

.PHONY: nginx install-nginx

$O/tests/unit/instrument/nginx_tracestate_test $O/tests/fuzz/instrument_nginx_tracestate: $O/instrument/nginx/nginx_tracestate.o
