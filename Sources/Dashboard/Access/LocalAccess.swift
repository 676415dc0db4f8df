import HTTPServer

/// Who may use a dashboard that never had operators: only this machine.
enum LocalAccess {
  /// What proxies add, in lower case. Behind one, the address of the peer does not tell where a request comes from.
  private static let proxyFields: Set<String> = [
    "forwarded", "via", "max-forwards", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "x-proxyuser-ip",
    "true-client-ip", "cf-connecting-ip", "cf-ray", "cdn-loop", "fastly-client-ip", "x-amzn-trace-id",
    "x-cloud-trace-context", "x-original-forwarded-for", "x-original-host", "x-original-url", "x-scheme", "x-host",
  ]
  private static let proxyPrefixes = ["x-forwarded", "x-envoy-", "x-azure-", "x-arr-"]

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
    guard request.peer.ip?.isLoopback == true else { return false }
    guard !request.headers.fields.contains(where: { isOfProxy($0.name.lowercased()) }) else { return false }
    // A proxy that sets Host leaves the name that the browser shows.
    let origins = request.headers.values(of: "origin").compactMap(CrossOriginProtection.host)
    guard origins.allSatisfy({ isLocalHost(withoutPort($0)) }) else { return false }
    let hosts = request.headers.values(of: "host")
    return hosts.count == 1 && isLocalHost(withoutPort(hosts[0]))
  }

  private static func isOfProxy(_ field: String) -> Bool {
    proxyFields.contains(field) || proxyPrefixes.contains { field.hasPrefix($0) }
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
