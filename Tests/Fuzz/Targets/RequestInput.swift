import Credentials
import JSON
import PushModel

@testable import HTTPServer
@testable import Sidecar

/// A request to the sidecar: a line with the target, a line with the value of several header fields, then the body.
enum RequestInput {
  private static let maximumAnswerBytes = 2048

  static func check(_ bytes: [UInt8]) throws(Violation) {
    let lines = bytes.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false)
    // The server reads both from C strings.
    let target = String(decoding: lines[0].filter { $0 != 0 }, as: UTF8.self)
    let field = lines.count > 1 ? String(decoding: lines[1].filter { $0 != 0 && $0 != 0x0D }, as: UTF8.self) : ""
    let body = lines.count > 2 ? Array(lines[2]) : []
    try checkTarget(target)
    try checkHeaders(field)
    try checkBody(body)
  }

  private static func checkTarget(_ text: String) throws(Violation) {
    guard let target = HTTPTarget(parsing: text) else { return }
    try require(target.path.utf8.first == UInt8(ascii: "/"), "a path begins with \(target.path.prefix(1))")
    try require(target.query.count <= FormEncoding.maximumItems, "a query has \(target.query.count) items")
    try checkForm(target.query)
    try checkRefusal { () throws(Refusal) in
      let query = try DeviceListQuery(target.query)
      guard let after = query.after else { return }
      _ = try RequestFields.apnsToken(after.text, "token")
    }
    for cursor in ["since", "cursor"] {
      try checkRefusal { () throws(Refusal) in _ = try NotificationQuery(target.query, cursor: cursor) }
    }
    let last = target.path.split(separator: "/").last.flatMap { String(percentDecoding: $0) }
    try checkRefusal { () throws(Refusal) in _ = try RequestFields.hexToken(last, "deviceToken") }
  }

  /// Requires that items are the same after they were encoded and decoded.
  private static func checkForm(_ items: [(name: String, value: String)]) throws(Violation) {
    let text = items.map { "\(escaped($0.name))=\(escaped($0.value))" }.joined(separator: "&")
    let again = FormEncoding.items(of: text)
    try require(
      again?.map(\.name) == items.map(\.name) && again?.map(\.value) == items.map(\.value),
      "a form differs after it was encoded")
  }

  private static func escaped(_ text: String) -> String {
    text.utf8.map { "%" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  private static func checkHeaders(_ value: String) throws(Violation) {
    if let origin = WebOrigin(parsing: value) {
      try require(WebOrigin(parsing: origin.text) == origin, "an origin differs after it was written and read")
    }
    if let page = WebOrigin(ofPage: value) {
      try require(WebOrigin(parsing: page.text) == page, "a page's origin differs after it was written and read")
    }
    if let address = IPAddress(forwarded: value) {
      try requireShort(address.client, 64, "the text of an address")
    }
    let fields = ["Authorization", "X-Username", "X-Forwarded-For", "X-API-Key", "Access-Control-Request-Headers"]
    let headers = HTTPHeaders(fields.map { ($0, value) })
    _ = BearerCredentials(headers)
    let allowed = Preflight(headers).allowedHeaders
    try require(!allowed.contains("\n"), "a header field has a line end")
    var proxies = TrustedProxies()
    _ = proxies.add("10.0.0.0/8")
    _ = proxies.add("unix")
    try requireShort(proxies.clientAddress(of: request(headers, [])).client, 64, "the address of a client")
    _ = OriginPolicy().allows(value)
    _ = BodyFraming.isUnambiguous(HTTPHeaders([("Content-Length", value)]), isHTTP10: false)
  }

  private static func checkBody(_ body: [UInt8]) throws(Violation) {
    try JSONText.requireStable(body)
    try PartsInput.check(body)
    try checkRefusal { () throws(Refusal) in _ = try RegisterRequest(body) }
    try checkRefusal { () throws(Refusal) in _ = try PushBody(body).tokens() }
    var payload: [UInt8]?
    try checkRefusal { () throws(Refusal) in payload = try TestRequest(body).payload }
    if let payload { try JSONText.requireValid(payload, "the payload of a test push") }
    try checkRefusal { () throws(Refusal) in try readFields(try RequestBody.object(body)) }
    let form = HTTPHeaders([("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")])
    try checkRefusal { () throws(Refusal) in try readFields(try RequestBody.objectOrForm(request(form, body))) }
  }

  /// Reads the fields of all APIs; the first fault is thrown.
  private static func readFields(_ body: JSONValue) throws(Refusal) {
    _ = try BroadcastJob(body, to: "com.example.app", id: "id")
    _ = try RequestFields.bundleID(body["bundleId"], "bundleId")
    _ = try RequestFields.apnsToken(body["token"]?.string, "token")
    _ = try RequestFields.userID(body["userId"]?.string)
    _ = try RequestFields.hexToken(body["currentToken"]?.string, "currentToken")
  }

  private static func request(_ headers: HTTPHeaders, _ body: [UInt8]) -> HTTPRequest {
    HTTPRequest(method: "POST", path: "/", headers: headers, body: body)
  }

  /// Requires that a refusal, in each form, is a short JSON text.
  static func checkRefusal(_ read: () throws(Refusal) -> Void) throws(Violation) {
    do {
      try read()
    } catch {
      for response in [error.response, error.responseWithMessage] {
        try JSONText.requireValid(response.body, "a refusal")
        try require(response.body.count <= maximumAnswerBytes, "a refusal has \(response.body.count) bytes")
      }
    }
  }
}
