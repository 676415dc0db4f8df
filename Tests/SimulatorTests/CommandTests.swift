import Testing
import Usage

@testable import Simulator

struct CommandTests {
  private func devices(_ body: String, now: Int64) throws -> [DeviceCommand] {
    try Command.list(Array(body.utf8)) { command throws(ControlError) in try DeviceCommand(&command, now: now) }
  }

  @Test(arguments: [
    "", "{", "[]", "1", #"{"kind":1}"#, #"{"every":1}"#, #"{"kind":"fire"}"#, #"{"kind":"status"}"#,
    #"{"kind":"status","status":99}"#, #"{"kind":"drop","every":0}"#, #"{"kind":"drop","count":-1}"#,
    #"{"kind":"status","status":503,"reason":"a\"b"}"#, #"{"kind":"drop","procesed":true}"#,
    #"{"kind":"reset","code":4294967296}"#,
  ])
  func `an invalid fault is refused`(body: String) {
    #expect(throws: ControlError.self) { try FaultCommand(parsing: Array(body.utf8)) }
  }

  @Test func `a fault is read with its defaults`() throws {
    #expect(
      try FaultCommand(parsing: Array(#"{"kind":"reset"}"#.utf8))
        == .add(Fault(.reset(code: 7, processed: false)), answersPings: true))
    #expect(
      try FaultCommand(parsing: Array(#"{"kind":"stall","processed":true,"answerPings":false,"after":3}"#.utf8))
        == .add(Fault(.stall(processed: true), after: 3), answersPings: false))
    #expect(
      try FaultCommand(parsing: Array(#"{"kind":"stall","topic":"com.example.a"}"#.utf8))
        == .add(Fault(.stall(processed: false), topic: "com.example.a"), answersPings: true))
    #expect(try FaultCommand(parsing: Array(#"{"kind":"early"}"#.utf8)) == .answerEarly)
  }

  @Test func `a token is bound to environment, topic and kind, which is app by default`() throws {
    let token = RequestHead.token
    let members = #""token":"\#(token)","rule":"bound","bundleId":"com.example.a","environment":"sandbox""#
    let two = try devices(#"[{\#(members)},{\#(members),"kind":"voip"}]"#, now: 9)
    #expect(two.map(\.binding?.topic) == ["com.example.a", "com.example.a.voip"])
    #expect(two.allSatisfy { $0.rule == nil && $0.binding?.environment == .sandbox })
    for (wrong, text) in [
      (#""rule":"bound","bundleId":"a","environment":"sandbox","token":"xyz""#, "\"xyz\" is not a device token"),
      (#""rule":"bound","bundleId":"a","token":"\#(token)""#, "needs an \"environment\" and a \"bundleId\""),
      (#""rule":"bound","environment":"sandbox","token":"\#(token)""#, "needs an \"environment\" and a \"bundleId\""),
      (#""rule":"bound","bundleId":"","environment":"sandbox","token":"\#(token)""#, "needs an"),
      (#""rule":"bound","bundleId":"a","environment":"development","token":"\#(token)""#, "one of production, sandbox"),
      (#"\#(members),"kind":"alert""#, "\"alert\" is not one of app, voip"), (#"\#(members),"kind":1"#, "a string"),
      (#"\#(members),"topic":"x""#, "unknown field \"topic\""),
    ] {
      let error = #expect(throws: ControlError.self) { try devices("{\(wrong)}", now: 0) }
      #expect(error?.description.contains(text) == true, "\(wrong): \(error?.description ?? "")")
    }
  }

  @Test(arguments: [
    #"{"keyId":"K","environment":"both"}"#, #"{"keyId":"K","onlyBundleIds":[]}"#, #"{"keyId":"K","onlyBundleIds":[1]}"#,
  ])
  func `an invalid restriction of a key is refused`(body: String) {
    #expect(throws: ControlError.self) { try Command.list(Array(body.utf8), KeyCommand.init) }
  }

  @Test func `the environment is production or sandbox`() throws {
    #expect(try Arguments(parsing: ["--environment", "sandbox"]).environment == .sandbox)
    #expect(throws: UsageError.self) { try Arguments(parsing: ["--environment", "development"]) }
  }

  @Test func `devices are read one by one or as an array`() throws {
    let one = try devices(#"{"token":"a","rule":"unregistered"}"#, now: 9)
    #expect(one.map(\.rule) == [.unregistered(since: 9)])
    let two = try devices(
      #"[{"token":"a","rule":"good"},{"token":"b","rule":"fixed","status":500}]"#, now: 9)
    #expect(two.map(\.rule) == [nil, .fixed(Answer(500, "InternalServerError"))])
  }

  @Test(arguments: [
    "{}", #"{"token":"a"}"#, #"{"token":"a","rule":"odd"}"#, #"{"token":"a","rule":"forTopic"}"#,
    #"{"token":"a","rule":"unregistered","since":"now"}"#, #"{"token":"a","rule":"bad","since":1}"#, "[1]",
  ])
  func `an invalid device is refused`(body: String) {
    #expect(throws: ControlError.self) { try devices(body, now: 0) }
  }

  @Test(arguments: [
    ("{}", "\"deviceId\" is missing"), (#"{"deviceId":"a"}"#, "\"username\" is missing"),
    (#"{"deviceId":"a","username":"b"}"#, "\"bundleId\" is missing"),
    (#"{"deviceId":"a","username":"b\n","bundleId":"c"}"#, "line end"),
    (#"{"deviceId":"a","username":"b","bundleId":"c","sidecar":"ftp://d"}"#, "\"sidecar\": its scheme is ftp"),
    (#"{"deviceId":"a","username":"b","bundleId":"c","startTokens":{"Ride":"xyz"}}"#, "hexadecimal"),
    (#"{"deviceId":"a","username":"b","bundleId":"c","startTokens":["xyz"]}"#, "must be an object of strings"),
    (#"{"deviceId":"a","online":true,"seed":1}"#, "unknown field \"seed\""),
    (#"{"deviceId":"a","online":1}"#, "true or false"),
  ])
  func `an invalid device with Live Activities is refused`(body: String, text: String) {
    let error = #expect(throws: ControlError.self) {
      try Command.list(Array(body.utf8)) { command throws(ControlError) in
        try LiveActivityCommand(&command, .production)
      }
    }
    #expect(error?.description.contains(text) == true, "\(body): \(error?.description ?? "")")
  }

  @Test(arguments: [#"{"maxStreams":0}"#, #"{"rttMs":-1}"#, #"{"topics":[1]}"#, #"{"rtt":1}"#])
  func `invalid settings are refused`(body: String) {
    #expect(throws: ControlError.self) { try SettingsCommand(parsing: Array(body.utf8)) }
  }
}
