import EventLoop
import Foundation
import HTTPServer
import JSON
import Sidecar
import SidecarSupport
import Testing
import TestSupport

@EventLoop
struct OpenAPITests {
  @Test func `the served description is the file`() async throws {
    let fixture = try await SidecarFixture()
    let answer = try await fixture.request("GET", "/openapi.json")
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let file = try JSONValue(
      parsing: Array(try Data(contentsOf: root.appending(path: "Sources/Sidecar/openapi.json"))))
    #expect(answer.status == 200)
    #expect(answer.headers["content-type"] == "application/json")
    #expect(answer.json == file)
    #expect(file["openapi"]?.string == "3.1.0")
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `every described path is served with the described methods`() async throws {
    let parts = try SidecarParts()
    let fixture = try await SidecarFixture { $0.apis = parts.apis }
    let description = try #require(try await fixture.request("GET", "/openapi.json").json)
    for path in try #require(description["paths"]?.members) {
      let route = path.key.split(separator: "{").first.map(String.init) ?? path.key
      let target = path.key.contains("{") ? route + "0123456789abcdef0123456789abcdef" : path.key
      let answer = try await fixture.request("PATCH", target)
      #expect(answer.status == 405, "\(path.key)")
      let allowed = Set((answer.headers["allow"] ?? "").split(separator: ",").map { $0.filter { $0 != " " } })
      let described = path.value.members?.map { $0.key.uppercased() }.filter { $0 != "PARAMETERS" } ?? []
      #expect(allowed.subtracting(["HEAD"]) == Set(described), "\(path.key)")
    }
    await fixture.sidecar.stop(grace: .seconds(1))
  }
}
