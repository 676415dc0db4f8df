import COpenSSL

/// The version of the library that this module is linked with.
public enum CryptoLibraries {
  public static var openSSL: String { String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
