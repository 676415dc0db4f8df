import Foundation
import Program
import Testing
@testable import Redis
@testable import Martlet
@testable import Worker

struct RedisSettingsTests {
  private let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  private func file(_ text: String) throws -> String {
    let url = directory.appending(path: UUID().uuidString)
    try Data(text.utf8).write(to: url)
    return url.path
  }

  private func faults(_ values: [String: String]) -> String {
    do {
      _ = try WorkerSettings(environment: values)
      return ""
    } catch {
      return error.text
    }
  }

  @Test(arguments: ["redis://user:secret@redis.example:6380/2", "  redis://user:secret@redis.example:6380/2\n"])
  func `the URL is read from a file`(text: String) throws {
    let configuration = try WorkerSettings(environment: ["REDIS_URL_FILE": try file(text)]).worker
    #expect(configuration.redis.summary == "redis://redis.example:6380/2")
    #expect(configuration.redis.password == "secret")
  }

  @Test func `REDIS_URL comes before the file`() throws {
    let configuration = try WorkerSettings(
      environment: ["REDIS_URL": "redis://first.example", "REDIS_URL_FILE": try file("redis://second.example")]).worker
    #expect(configuration.redis.summary.contains("first.example"))
  }

  @Test(arguments: ["https://user:hidden@host.example", "https://hidden@host.example", "https://user:hid/den@host"])
  func `a user or a password in the URL of a hosted store is a fault that does not show it`(url: String) {
    let text = faults(["REDIS_KV_REST_API_URL": url, "REDIS_KV_REST_API_TOKEN": "token"])
    #expect(text.contains("REDIS_KV_REST_API_URL: a user or a password in the URL"), "\(text)")
    #expect(!text.contains("hid"))
  }

  @Test func `a file that cannot be used is a fault that names the setting`() throws {
    #expect(
      faults(["REDIS_URL_FILE": "/nowhere/url"]).contains("REDIS_URL_FILE: the file '/nowhere/url' cannot be read"))
    #expect(faults(["REDIS_URL_FILE": try file(" \n")]).contains("REDIS_URL_FILE: the file is empty"))
    #expect(faults(["REDIS_URL_FILE": directory.path]).contains("is not a regular file"))
    let nonsense = faults(["REDIS_URL_FILE": try file("http://user:secret@host")])
    #expect(nonsense.contains("REDIS_URL_FILE: has an unknown scheme") && !nonsense.contains("secret"), "\(nonsense)")
    #expect(
      faults(["REDIS_URL_FILE": try file(String(repeating: "r", count: 5000))]).contains("is larger than 4096 bytes"))
  }

  @Test(arguments: ["\"", "'"]) func `quotation marks around the URL are left out`(mark: String) throws {
    let url = mark + "redis://user:secret@redis.example/2" + mark
    #expect(try WorkerSettings(environment: ["REDIS_URL": url]).worker.redis.password == "secret")
    #expect(try WorkerSettings(environment: ["REDIS_URL_FILE": try file(url)]).worker.redis.password == "secret")
    #expect(faults(["REDIS_URL": mark]).contains("REDIS_URL: is not a URL"))
  }

  @Test(arguments: ["localhost:6379", "mysql://host"]) func `a fault says once what is expected`(url: String) {
    let text = faults(["REDIS_URL": url])
    #expect(text.components(separatedBy: "expected").count == 2, "\(text)")
    #expect(text.contains("redis+cluster://") && text.contains("valkey://"), "\(text)")
  }
}
