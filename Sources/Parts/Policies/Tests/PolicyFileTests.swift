import Foundation
import JSON
import Testing

@testable import Jobs
@testable import Policies

struct PolicyFileTests {
  private static let notice = #"{"name":"notice","urgency":"low","preview":"A notice.","quiet":"deferCollapsed"}"#
  private static let limit = #"{"count":3,"seconds":60}"#

  private func read(_ policies: String) -> (book: PolicyBook, faults: [InvalidValue]) {
    PolicyFile.read(Array(#"{"policies":[\#(policies)]}"#.utf8), quietHours: .standard)
  }

  /// Returns a policy that is not the built-in one.
  private func own(_ members: String = "", classes: String = notice, limits: String = limit) -> String {
    #"{"name":"house","title":"House","classes":[\#(classes)],"limits":[\#(limits)]\#(members)}"#
  }

  private func paths(_ policies: String) -> [String] { read(policies).faults.map(\.place) }

  @Test func `the example in deploy/examples has no faults`() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../../../deploy/examples/policy.json")
    let (book, faults) = PolicyFile.read(Array(try Data(contentsOf: path)), quietHours: .standard)
    #expect(faults == [])
    #expect(book.policies.map(\.name) == ["nyra", "building"])
    let builtIn = book.policies[0]
    #expect(builtIn.quietHours == QuietHours("22:30-07:30"))
    #expect(builtIn.limits.count == 3)
    #expect(builtIn.rhythm.collapseSeconds == 300)
    let job = try Job(parsing: Array(#"{"to":{"instance":"i"},"class":"building_alarm"}"#.utf8))
    let match = try #require(try book.match(job))
    #expect(match.policy.name == "building")
    #expect(
      String(decoding: try job.apnsPayload(match), as: UTF8.self).contains(#""building":{"class":"building_alarm","#))
  }

  @Test func `a file without policies gives the built-in one with the configured quiet hours`() {
    let (book, faults) = read("")
    #expect(faults == [])
    #expect(book.policies.map(\.name) == ["nyra"])
    #expect(book.policies[0].quietHours == .standard)
    #expect(PolicyFile.read(Array(#"{"policies":[]}"#.utf8), quietHours: nil).book.policies[0].quietHours == nil)
  }

  @Test func `a policy has its own quiet hours, none, or the configured ones`() {
    #expect(read(own()).book.policies[1].quietHours == .standard)
    #expect(read(own(#","quietHours":"12:00-13:00""#)).book.policies[1].quietHours == QuietHours("12:00-13:00"))
    #expect(read(own(#","quietHours":"off""#)).book.policies[1].quietHours == nil)
    #expect(read(#"{"name":"nyra","quietHours":"off"}"#).book.policies[0].quietHours == nil)
  }

  @Test func `limits of the file are added to the built-in ones`() {
    let (book, faults) = read(#"{"name":"nyra","limits":[{"count":2,"seconds":300},{"count":5,"seconds":3600}]}"#)
    #expect(faults == [])
    #expect(
      book.policies[0].limits == DeliveryPolicy.builtIn.limits + [
        .init(count: 2, seconds: 300), .init(count: 5, seconds: 3600),
      ])
  }

  @Test(
    arguments: [
      (#"{"name":"nyra","limits":[{"count":4,"seconds":300}]}"#, "policies[0].limits[0]"),
      (#"{"name":"nyra","limits":[{"count":3,"seconds":299}]}"#, "policies[0].limits[0]"),
      (#"{"name":"nyra","limits":[{"count":2,"seconds":60},{"count":21,"seconds":86400}]}"#, "policies[0].limits[1]"),
      (#"{"name":"nyra","retrySeconds":59}"#, "policies[0].retrySeconds"),
      (#"{"name":"nyra","rhythm":{"collapseSeconds":59}}"#, "policies[0].rhythm.collapseSeconds"),
      (#"{"name":"nyra","tone":{"standard":false}}"#, "policies[0].tone.standard"),
      (#"{"name":"nyra","title":"Myra"}"#, "policies[0].title"),
      (#"{"name":"nyra","member":"myra"}"#, "policies[0].member"),
      (#"{"name":"nyra","classes":[]}"#, "policies[0].classes"),
      (#"{"name":"nyra","rhythm":{"lowClass":"safety_critical"}}"#, "policies[0].rhythm.lowClass"),
    ])
  func `a setting that the document locks cannot become looser`(policy: String, path: String) {
    #expect(paths(policy) == [path])
  }

  @Test func `a fault names its path, what was seen and what is expected`() {
    let faults = read(own(limits: #"{"count":3,"seconds":60},{"count":1,"seconds":0}"#)).faults
    #expect(
      faults == [
        InvalidValue(
          place: "policies[0].limits[1].seconds", seen: "0", expected: "a whole number from 1 to 2678400")
      ])
  }

  @Test func `all faults are reported at once`() {
    let bad =
      #"{"name":"Bad name","urgency":"huge","preview":"","quiet":"never","collapse":{"seconds":"x","share":true}}"#
    let policy = own(
      #","member":"aps","quietHours":"8-9","rhythm":{"lowClas":"x"},"speed":1"#, classes: bad, limits: "{}")
    let expected: Set = [
      "policies[0]", "policies[0].member", "policies[0].quietHours", "policies[0].rhythm",
      "policies[0].limits[0].count",
      "policies[0].limits[0].seconds", "policies[0].classes[0].name", "policies[0].classes[0].urgency",
      "policies[0].classes[0].preview", "policies[0].classes[0].quiet", "policies[0].classes[0].collapse",
      "policies[0].classes[0].collapse.seconds",
    ]
    #expect(Set(paths(policy)) == expected)
  }

  @Test func `the fault of a mistyped field suggests the right name`() {
    let faults = read(own(#","quiethours":"off""#)).faults
    #expect(faults.map(\.seen) == [#"unknown field 'quiethours'; did you mean "quietHours"?"#])
  }

  @Test(arguments: [#"{"name":"nyra","quietHours":"LONG"}"#, #"{"LONG":1,"LONG":2}"#])
  func `a fault quotes little, even of a character as long as the file`(policy: String) {
    let long = "e" + String(repeating: "\u{301}", count: 10_000)
    let faults = read(policy.replacingOccurrences(of: "LONG", with: long)).faults
    #expect(faults.count == 1)
    #expect(faults.allSatisfy { $0.seen.utf8.count < 300 })
  }

  @Test func `names are unique over all policies`() {
    #expect(paths(own() + "," + own()) == ["policies[1].name"])
    #expect(paths(#"{"name":"nyra"},{"name":"nyra"}"#) == ["policies[1].name"])
    #expect(paths(own(classes: Self.notice + "," + Self.notice)) == ["policies[0].classes[1].name"])
    let taken = Self.notice.replacingOccurrences(of: "notice", with: "attention_ping")
    #expect(paths(own(classes: taken)) == ["policies[0].classes[0].name"])
  }

  @Test func `missing fields are reported`() {
    #expect(
      paths(#"{"name":"house"}"#) == ["policies[0].title", "policies[0].classes", "policies[0].limits"])
    #expect(paths(own(classes: "")) == ["policies[0].classes"])
    #expect(paths(own(limits: "")) == ["policies[0].limits"])
  }

  @Test func `the preview of a class follows the rules of tone`() {
    let pushy = Self.notice.replacingOccurrences(of: "A notice.", with: "Hurry!")
    #expect(paths(own(classes: pushy)) == ["policies[0].classes[0].preview"])
    #expect(paths(own(#","tone":{"standard":false}"#, classes: pushy)) == [])
    #expect(paths(own(#","tone":{"phrases":["a notice"]}"#)) == ["policies[0].classes[0].preview"])
    #expect(
      paths(own(#","tone":{"phrases":["", 7, "fine"]}"#)) == [
        "policies[0].tone.phrases[0]", "policies[0].tone.phrases[1]",
      ])
  }

  @Test(arguments: ["", "[]", "{", "null", #"{"policies":{}}"#, #"{"policies":[1]}"#, "{}", #"{"policys":[]}"#])
  func `an invalid policy file is a fault`(text: String) {
    #expect(!PolicyFile.read(Array(text.utf8), quietHours: nil).faults.isEmpty)
  }
}
