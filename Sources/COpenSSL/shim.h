#pragma once
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/// `XN_FLAG_RFC2253` is a composed macro.
static const unsigned long martlet_rfc2253_name = XN_FLAG_RFC2253;
