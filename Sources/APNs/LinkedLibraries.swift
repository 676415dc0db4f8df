import CGnuTLS
import CNGHTTP2

/// The versions of the libraries that this module is linked with.
public enum APNsLibraries {
  public static var nghttp2: String { String(cString: nghttp2_version(0).pointee.version_str) }
  public static var gnuTLS: String { String(cString: gnutls_check_version(nil)) }
}
