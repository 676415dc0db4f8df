import CCurl

/// The version of the library that this module is linked with.
public enum HTTPClientLibraries {
  public static var libcurl: String { String(cString: curl_version_info(CURLVERSION_FIRST).pointee.version) }
}
