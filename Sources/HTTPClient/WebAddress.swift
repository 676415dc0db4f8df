import CCurl

/// A URL, parsed by libcurl, up to its path.
public struct WebAddress: Sendable, Equatable {
  /// In lower case.
  public let scheme: String
  /// The name or address that a certificate must contain; an IPv6 address without brackets.
  public let host: String
  /// `scheme://host:port`.
  public let origin: String
  /// `host`, or `host:port` if the port is not the scheme's.
  public let authority: String
  /// Whether the URL contains a user name or a password.
  public let hasUser: Bool

  /// Returns nil if `text` is not a URL of a scheme that libcurl supports, or has no host.
  public init?(_ text: String) {
    // A C string would end at a NUL.
    guard !text.utf8.contains(0), let parsed = curl_url() else { return nil }
    defer { curl_url_cleanup(parsed) }
    guard curl_url_set(parsed, CURLUPART_URL, text, 0) == CURLUE_OK,
      let scheme = WebAddress.part(parsed, CURLUPART_SCHEME),
      let host = WebAddress.part(parsed, CURLUPART_HOST),
      let port = WebAddress.part(parsed, CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT))
    else { return nil }
    self.scheme = scheme.lowercased()
    self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    origin = "\(self.scheme)://\(host):\(port)"
    let isDefault = WebAddress.part(parsed, CURLUPART_PORT, UInt32(CURLU_NO_DEFAULT_PORT)) == nil
    authority = isDefault ? host : "\(host):\(port)"
    hasUser =
      WebAddress.part(parsed, CURLUPART_USER) != nil || WebAddress.part(parsed, CURLUPART_PASSWORD) != nil
  }

  private static func part(_ url: OpaquePointer, _ part: CURLUPart, _ flags: UInt32 = 0) -> String? {
    var value: UnsafeMutablePointer<CChar>?
    guard curl_url_get(url, part, &value, flags) == CURLUE_OK, let value else { return nil }
    defer { curl_free(value) }
    return String(cString: value)
  }
}
