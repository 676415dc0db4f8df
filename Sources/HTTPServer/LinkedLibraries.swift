import CMicroHTTPD

/// The version of the library that this module is linked with.
public enum HTTPServerLibraries {
  public static var libmicrohttpd: String { String(cString: MHD_get_version()) }
}
