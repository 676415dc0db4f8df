import HTTPServer
import SidecarSupport
import Testing

@testable import Sidecar

struct PreflightTests {
  private func allowed(_ values: String...) -> String {
    Preflight(HTTPHeaders(values.map { (name: "Access-Control-Request-Headers", value: $0) })).allowedHeaders
  }

  @Test(arguments: [
    ("X-A,X-B", "X-A, X-B"), (" X-A ,\tX-B", "X-A, X-B"), ("X-A, x-a, X-a, X-B", "X-A, X-B"),
    ("x-a,,  ,X-B", "x-a, X-B"),
    ("X-A, bad name, b@d, \u{E9}, X-B", "X-A, X-B"), ("!#$%&'*+-.^_`|~09aZ", "!#$%&'*+-.^_`|~09aZ"),
    (String(repeating: "a", count: 128), String(repeating: "a", count: 128)),
    (String(repeating: "a", count: 129), Preflight.defaultHeaders), ("", Preflight.defaultHeaders),
    ("a b, (x)", Preflight.defaultHeaders),
  ])
  func `requested headers are returned, trimmed and without repetition`(requested: String, expected: String) {
    #expect(allowed(requested) == expected)
  }

  @Test func `several fields are combined`() {
    #expect(allowed("X-A, X-B", "x-b, X-C") == "X-A, X-B, X-C")
  }

  @Test func `at most 50 names are kept`() {
    let names = (0..<60).map { "X-\($0)" }
    #expect(allowed(names.joined(separator: ",")) == names.prefix(50).joined(separator: ", "))
  }

  @Test func `at most 200 candidates are read`() {
    #expect(allowed(String(repeating: ",", count: 199) + "X-A") == "X-A")
    #expect(allowed(String(repeating: ",", count: 200) + "X-A") == Preflight.defaultHeaders)
  }

  @Test func `the limits count for all fields together`() {
    let commas = String(repeating: ",", count: 150)
    #expect(allowed(commas, commas + "X-A") == Preflight.defaultHeaders)
    #expect(allowed("X-A", String(repeating: " ,", count: 14_000), "X-B") == "X-A")
  }

  @Test(arguments: [
    (nil, true), ("POST", true), (" post ", true), ("", true), ("GET", false), ("PO ST", false), ("POST, GET", false),
    (String(repeating: "P", count: 33), false),
  ])
  func `only the method of the route may be requested`(method: String?, isGood: Bool) {
    let fields = method.map { [(name: "Access-Control-Request-Method", value: $0)] } ?? []
    #expect(Preflight(HTTPHeaders(fields)).requests(oneOf: ["POST"]) == isGood)
  }
}
