import CCurl
import PushModel

/// Scheme, host and port of a gateway, parsed by libcurl.
struct Origin: Sendable, Equatable {
  /// `https://host:port`, without a path.
  let url: String
  /// `host`, or `host:port` if the port is not 443.
  let authority: String
  /// The name or address that the certificate must contain; an IPv6 address without brackets.
  let host: String

  init(_ text: String) throws(APNsError) {
    // Errors do not quote the text, because it may contain a password.
    func refuse(_ why: String) -> APNsError {
      .configuration("the APNs endpoint \(why); expected https://host or https://host:port")
    }
    guard let parsed = curl_url() else { throw .configuration("out of memory") }
    defer { curl_url_cleanup(parsed) }
    guard curl_url_set(parsed, CURLUPART_URL, text, 0) == CURLUE_OK else { throw refuse("is not a URL") }
    guard Origin.part(parsed, CURLUPART_SCHEME) == "https" else { throw refuse("does not use https") }
    guard Origin.part(parsed, CURLUPART_USER) == nil, Origin.part(parsed, CURLUPART_PASSWORD) == nil else {
      throw refuse("contains a user name or a password")
    }
    guard let host = Origin.part(parsed, CURLUPART_HOST),
      let port = Origin.part(parsed, CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT))
    else { throw refuse("has no host") }
    url = "https://\(host):\(port)"
    self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    authority = port == "443" ? host : "\(host):\(port)"
  }

  private static func part(_ url: OpaquePointer, _ part: CURLUPart, _ flags: UInt32 = 0) -> String? {
    var value: UnsafeMutablePointer<CChar>?
    guard curl_url_get(url, part, &value, flags) == CURLUE_OK, let value else { return nil }
    defer { curl_free(value) }
    return String(cString: value)
  }
}

extension PushEnvironment {
  /// The URL of Apple's gateway.
  var origin: String {
    switch self {
    case .production: "https://api.push.apple.com"
    case .sandbox: "https://api.sandbox.push.apple.com"
    }
  }
}
