import HTTPServer

/// Which page a request comes from, as its header fields tell.
enum RequestOrigin: Equatable {
  /// Neither Origin nor Referer: not a browser's cross-origin request.
  case none
  case named(String)
  /// Told, but not in a way that can be judged.
  case unreadable

  init(_ headers: HTTPHeaders) {
    let origins = RequestOrigin.values(of: "Origin", in: headers)
    guard origins.isEmpty else {
      self = origins.count == 1 ? .named(origins[0]) : .unreadable
      return
    }
    let pages = RequestOrigin.values(of: "Referer", in: headers)
    guard let page = pages.first else {
      self = .none
      return
    }
    let origin = pages.count == 1 ? WebOrigin(ofPage: page) : nil
    self = origin.map { .named($0.text) } ?? .unreadable
  }

  private static func values(of name: String, in headers: HTTPHeaders) -> [String] {
    headers.values(of: name).map(\.trimmed).filter { !$0.isEmpty }
  }
}
