import HTTPClient

/// The proxy that libcurl uses for a URL of https, by the variables of the environment that it reads.
///
/// https://curl.se/docs/manpage.html#ENVIRONMENT
struct ProxyChoice: Equatable {
  /// The variable that names it.
  let variable: String
  /// Its host and port; user and password are not shown.
  let address: String

  /// Nil if the URL is reached without a proxy.
  init?(for url: String, in environment: [String: String]) {
    func first(_ names: [String]) -> (name: String, value: String)? {
      names.lazy.compactMap { name in environment[name].flatMap { $0.isEmpty ? nil : (name, $0) } }.first
    }
    guard let proxy = first(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
      let host = WebAddress(url)?.host.lowercased(),
      !ProxyChoice.isExempt(host, by: first(["no_proxy", "NO_PROXY"])?.value ?? "")
    else { return nil }
    variable = proxy.name
    // Its scheme may be one that libcurl knows for proxies only.
    let rest = proxy.value.split(separator: "://", maxSplits: 1).last ?? ""
    address = WebAddress("http://\(rest)")?.authority ?? "that cannot be read"
  }

  /// Whether a list of names and domains, separated by commas or spaces, has the host.
  private static func isExempt(_ host: String, by list: String) -> Bool {
    list.lowercased().split(whereSeparator: { $0 == "," || $0 == " " }).contains { entry in
      let name = entry.drop { $0 == "." }
      return entry == "*" || host == name || host.hasSuffix("." + name)
    }
  }
}
