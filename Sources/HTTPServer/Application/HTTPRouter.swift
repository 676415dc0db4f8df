/// Finds what answers a path.
public struct HTTPRouter<Endpoint> {
  private let maximumPathBytes: Int
  private let parameter: (Substring) -> String?
  private let paths: [String]
  private let endpoints: [Endpoint]
  /// Places of routes by their paths.
  private var exact: [Substring: Int] = [:]
  /// Places of routes with a parameter, by the text before it.
  private var prefixes: [Substring: Int] = [:]

  /// - Parameters:
  ///   - routes: paths, whose last part may be a parameter: `/devices/{deviceToken}`.
  ///   - maximumPathBytes: longer paths are no routes.
  ///   - parameter: reads the parameter of a path; nil if the path is not a route.
  public init(
    _ routes: [(path: String, endpoint: Endpoint)], maximumPathBytes: Int = .max,
    parameter: @escaping (Substring) -> String? = { String($0) }
  ) {
    self.maximumPathBytes = maximumPathBytes
    self.parameter = parameter
    paths = routes.map(\.path)
    endpoints = routes.map(\.endpoint)
    for (place, path) in paths.enumerated() {
      if let brace = path.firstIndex(of: "{") {
        prefixes[path[..<brace]] = place
      } else {
        exact[path[...]] = place
      }
    }
  }

  /// Returns the request with the endpoint that answers `path`, if there is one.
  func route(_ request: HTTPRequest, path: String, isStopping: Bool) -> RoutedRequest<Endpoint> {
    guard let (place, parameter) = match(path) else {
      return RoutedRequest(http: request, endpoint: nil, isStopping: isStopping)
    }
    return RoutedRequest(
      http: request, endpoint: endpoints[place], route: paths[place], parameter: parameter, isStopping: isStopping)
  }

  /// Returns what answers a path; nil if it is not a route.
  public func endpoint(of path: String) -> Endpoint? { match(path).map { endpoints[$0.place] } }

  private func match(_ path: String) -> (place: Int, parameter: String?)? {
    // Hashing text that is not ASCII takes far longer.
    guard path.utf8.count <= maximumPathBytes, path.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    if let found = exact[path[...]] { return (found, nil) }
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    let part = path[path.index(after: slash)...]
    guard !part.isEmpty, let found = prefixes[path[...slash]], let parameter = parameter(part) else { return nil }
    return (found, parameter)
  }
}

/// A request, and what answers its path.
public struct RoutedRequest<Endpoint> {
  public let http: HTTPRequest
  /// Nil if the path is not a route.
  public let endpoint: Endpoint?
  /// The route as the router has it, `/devices/{deviceToken}`; `none` if the path is not a route.
  public var route = "none"
  /// The path's text in place of the braces. Never contains `/`, unless the router decodes it.
  public var parameter: String?
  /// Whether the application is stopping.
  public var isStopping = false

  public var method: String { http.method }
}
