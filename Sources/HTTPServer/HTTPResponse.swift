import CMicroHTTPD
public import JSON

/// An answer. The server adds Content-Length, Date and Connection.
public struct HTTPResponse: Sendable {
  public var status: Int
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]

  public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  public static func json(_ body: [UInt8], status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, headers: [("Content-Type", "application/json")], body: body)
  }

  public static func json(_ object: JSONObject, status: Int = 200) -> HTTPResponse {
    .json(object.bytes, status: status)
  }

  public static func text(_ body: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, headers: [("Content-Type", "text/plain; charset=utf-8")], body: Array(body.utf8))
  }

  /// Returns the body and the header fields as an answer of the daemon, nil if there is no memory for it.
  func copied() -> OpaquePointer? {
    var body = body
    let response = body.withUnsafeMutableBytes {
      MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
    }
    let areAdded = headers.allSatisfy { name, value in
      // As arguments the texts would be copied once more.
      name.withCString { name in value.withCString { MHD_add_response_header(response, name, $0) } } == .YES
    }
    if !areAdded { MHD_destroy_response(response) }
    return areAdded ? response : nil
  }
}
