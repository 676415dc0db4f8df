import FleetSupport
import Foundation
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue

/// Bytes of producers must not control the terminal of an operator.
struct TerminalTests {
  private static let shared = Task { try await Fleet() }
  /// Clears the screen, reverses text, ends a line, is not UTF-8.
  private static let hostile = Array("x\u{1B}[2J\u{9B}31m\u{202E}evil\nreason    forged\u{7F}".utf8) + [0xFF, 0xC0]
  /// Returns whether the text has no control characters.
  private static let shown = #"x\u001b[2J\u009b31m\u202eevil\nreason    forged\u007f"# + "\u{FFFD}\u{FFFD}"

  private let fleet: Fleet
  private let queue: String

  init() async throws {
    fleet = try await Self.shared.value
    queue = fleet.unique("jobs")
  }

  /// Writes a dead letter and a record of these bytes with this id.
  private func bury(_ id: String) async throws {
    let letter = DeadLetter(
      id: id, reason: String(decoding: Self.hostile, as: UTF8.self), at: 1, attempts: 1,
      envelope: Envelope(nonce: "n", job: Self.hostile))
    _ = try await fleet.connection.send(RedisCommand("ZADD", QueueKeys(queue: queue).dead, "1").with(letter.bytes))
    _ = try await fleet.connection.send(RedisCommand("SET", QueueKeys.result(id)).with(Self.hostile))
  }

  /// Returns the output of a command, on a terminal if `isOnTerminal`.
  private func bytes(_ arguments: String, isOnTerminal: Bool) async throws -> [UInt8] {
    let directory = try TemporaryDirectory()
    let command = "'\(try builtProduct("martlet"))' \(arguments)"
    let environment = fleet.environment(["MARTLET_QUEUES": queue])
    let output = directory.path + "/output"
    if isOnTerminal {
      try await ChildProcess.run(
        "script", ["--quiet", "--return", "--command", command, output], environment: environment)
    } else {
      try await ChildProcess.run("sh", ["-c", "\(command) > '\(output)'"], environment: environment)
    }
    return Array(try Data(contentsOf: URL(filePath: output)))
  }

  @Test(
    arguments: ["dead list", "dead show ID", "dead list --json", "dead show ID --json", "result ID"], [true, false])
  func `bytes of a producer are escaped, on a terminal and elsewhere`(
    command: String, isOnTerminal: Bool
  ) async throws {
    let id = fleet.unique("id")
    try await bury(id)
    let bytes = try await bytes(command.replacing("ID", with: id), isOnTerminal: isOnTerminal)
    let text = String(decoding: bytes, as: UTF8.self)
    // A terminal puts a carriage return before each line end.
    let others = text.unicodeScalars.filter {
      [.control, .format].contains($0.properties.generalCategory) && $0 != "\n" && (!isOnTerminal || $0 != "\r")
    }
    #expect(others.isEmpty, "\(others)")
    let expected =
      command.hasPrefix("result") ? Self.shown.replacing(#"\n"#, with: isOnTerminal ? "\r\n" : "\n") : Self.shown
    #expect(text.contains(expected), "\(text)")
  }

  @Test func `raw output is unchanged`() async throws {
    let id = fleet.unique("id")
    try await bury(id)
    #expect(try await bytes("dead show \(id) --raw", isOnTerminal: false) == Self.hostile)
    #expect(try await bytes("result \(id) --raw", isOnTerminal: false) == Self.hostile)
    let list = try await bytes("dead list --raw", isOnTerminal: false)
    #expect(list.contains(0x1B))
    #expect(String(decoding: list, as: UTF8.self).contains("\u{1B}[2J\u{9B}31m\u{202E}evil"))
  }

  @Test func `errors that quote arguments are escaped`() async throws {
    for arguments in [
      ["\u{1B}[2J\n"], ["result", "\u{1B}[2J\n"], ["dead", "show", "\u{1B}[2J\n"], ["status", "-\u{1B}[2J\n"],
    ] {
      let child = try await fleet.martlet(arguments)
      #expect(child.exitCode != 0)
      #expect(child.lines.contains { $0.contains(#"\u001b[2J\n"#) }, "\(child.lines)")
      #expect(!child.lines.contains { $0.unicodeScalars.contains("\u{1B}") })
    }
    let enqueue = try await fleet.martlet("enqueue", input: "{\"to\":{\"user\":\"a\"},\"\\u001b[2J\\u202e\":1}\n")
    #expect(enqueue.exitCode == 1)
    #expect(enqueue.lines.contains { $0.contains(#"\u001b[2J\u202e"#) }, "\(enqueue.lines)")
    let setting = try await fleet.martlet(
      "status", environment: ["MARTLET_LOG": "x", "MARTLET_QUEUES": "a\u{1B}[2J,a\n"])
    #expect(setting.exitCode == 2)
    #expect(setting.lines.contains { $0.contains(#"a\u001b[2J,a"#) }, "\(setting.lines)")
  }

  @Test func `a reader that closes the pipe early gets no error`() async throws {
    for number in 1...3 { try await bury("id-\(number)") }
    let program = try builtProduct("martlet")
    let directory = try TemporaryDirectory()
    // A pipe whose reader has closed it.
    let pipe = "mkfifo p && exec 3<>p 4>p 3<&-"
    let child = try ChildProcess(
      "sh", ["-c", "cd '\(directory.path)' && \(pipe) && exec '\(program)' dead list >&4"],
      environment: fleet.environment(["MARTLET_QUEUES": queue]))
    #expect(try await child.exit() == 1)
    #expect(child.lines == [])
  }

  @Test func `standard input that cannot be read is a failure`() async throws {
    let program = try builtProduct("martlet")
    let child = try ChildProcess("sh", ["-c", "exec '\(program)' enqueue < /"], environment: fleet.environment())
    #expect(try await child.exit() == 1)
    #expect(child.lines.contains { $0.contains("cannot read standard input") }, "\(child.lines)")
  }
}
