import HTTPServer

/// Who may use a dashboard that has no operators: only this machine.
enum LocalAccess {
  /// What proxies add. Behind one, the address of the peer does not tell where a request comes from.
  private static let proxyFields = ["Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP"]

  /// Whether only this machine can reach an address to listen on.
  static func isLocal(_ address: HTTPAddress) -> Bool {
    guard case .tcp(let host, _) = address else { return false }
    return isLocalHost(host)
  }

  /// Whether the request comes from this machine and was meant for it.
  ///
  /// The name in `Host` is checked too: a page of another site may give its own name the address 127.0.0.1, and the browser
  /// would then take the dashboard for a part of that site.
  static func isLocal(_ request: HTTPRequest) -> Bool {
    guard IPAddress(request.peerAddress)?.isLoopback == true else { return false }
    guard !proxyFields.contains(where: { request.headers[$0] != nil }) else { return false }
    let hosts = request.headers.values(of: "Host")
    return hosts.count == 1 && isLocalHost(withoutPort(hosts[0]))
  }

  private static func isLocalHost(_ host: String) -> Bool {
    let name = host.lowercased()
    return name == "localhost" || name.hasSuffix(".localhost") || IPAddress(name)?.isLoopback == true
  }

  /// Returns the host of `host:port` or `[IPv6]:port`.
  private static func withoutPort(_ text: String) -> String {
    if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
      return String(text[text.index(after: text.startIndex)..<end])
    }
    return text.firstIndex(of: ":").map { String(text[..<$0]) } ?? text
  }
}
