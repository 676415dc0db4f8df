import PushModel
import EventLoop
import FleetSupport
import Foundation
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue

/// The commands of an operator.
@Suite(.serialized) struct CommandTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet
  private let queue: String

  init() async throws {
    fleet = try await Self.shared.value
    queue = fleet.unique("jobs")
  }

  private func martlet(_ arguments: String..., input: String = "") async throws -> ChildProcess {
    try await fleet.martlet(arguments, environment: ["MARTLET_QUEUES": queue], input: input)
  }

  private func waiting() async throws -> [[UInt8]] {
    (try await fleet.redis("LRANGE", queue, "0", "-1").array ?? []).compactMap(\.bytes)
  }

  @Test(arguments: [
    "worker", "dashboard", "enqueue", "status", "result", "explain", "cancel", "queue", "broadcast", "dead", "tokens",
    "credentials", "doctor",
  ])
  func `each command has a help text`(name: String) async throws {
    let child = try await martlet(name, "--help")
    #expect(child.exitCode == 0)
    #expect(child.lines.first?.hasPrefix("usage: martlet \(name)") == true)
    let wrong = try await martlet(name, "--no-such-option")
    #expect(wrong.exitCode == 2)
  }

  @Test func `enqueue makes a job from its options and prints its id`() async throws {
    let child = try await martlet(
      "enqueue", "--user", "Alice", "--title", "Lunch?", "--badge", "3", "--data", #"{"a":[1]}"#, "--ttl", "60",
      "--at-most-once")
    #expect(child.exitCode == 0)
    let job = try Job(parsing: try #require(try await waiting().first))
    #expect(job.id == child.lines.first)
    #expect(job.addressee == .user("alice"))
    #expect(job.ttl == 60)
    #expect(job.atMostOnce)
  }

  @Test func `enqueue makes a job to a Live Activity, and points out what looks like a Unix time`() async throws {
    let activity = #"{"event":"update","contentState":{"endsAt":1795264200}}"#
    let child = try await martlet("enqueue", "--activity", "match", "--user", "Alice", "--live-activity", activity)
    #expect(child.exitCode == 0)
    let job = try Job(parsing: try #require(try await waiting().first))
    #expect(job.addressee == .activity("match", user: "alice"))
    #expect(job.liveActivity?.event == .update)
    let hint = "martlet enqueue: liveActivity.contentState.endsAt looks like a Unix time."
    #expect(child.lines.contains { $0.hasPrefix(hint) }, "\(child.lines)")
    let silent = try await martlet("enqueue", "--activity", "match", "--live-activity", #"{"event":"end"}"#)
    #expect(silent.exitCode == 0 && silent.lines.count == 1, "\(silent.lines)")
    let channel = try await martlet(
      "enqueue", "--channel", "match", "--app", "a.b", "--live-activity", #"{"event":"end"}"#)
    #expect(channel.exitCode == 0, "\(channel.lines)")
    let broadcast = try Job(parsing: try #require(try await waiting().first))
    #expect(broadcast.addressee == .channel("match") && broadcast.app == "a.b")
    let refused = try await martlet("enqueue", "--activity", "match", "--title", "x")
    #expect(refused.exitCode == 1)
  }

  @Test func `enqueue puts the id and the time where a null is, and points out a null that is sent`() async throws {
    let input = #"{"id":null,"to":{"user":"a"},"title":"x","data":{"id":null},"enqueuedAt":null}"# + "\n"
    let child = try await martlet("enqueue", input: input)
    #expect(child.exitCode == 0, "\(child.lines)")
    #expect(child.lines.contains("martlet enqueue: \(Job.nullHint)"), "\(child.lines)")
    let bytes = try #require(try await waiting().first)
    let job = try Job(parsing: bytes)
    #expect(job.id == child.lines(of: .output).first && job.enqueuedAt != nil)
    #expect(String(decoding: bytes, as: UTF8.self).contains(#""data":{"id":null}"#))
  }

  @Test func `enqueue reads one job per line and reports invalid ones`() async throws {
    let input = """
      {"id":"one","to":{"user":"a"},"title":"x"}
      {"to":{"user":"a"},"titel":"x"}

      {"to":{"user":"b"},"title":"y"}
      """
    let child = try await martlet("enqueue", "--json", input: input + "\n")
    #expect(child.exitCode == 1)
    let output = child.lines(of: .output)
    #expect(output.first == #"{"id":"one","queue":"\#(queue)"}"#)
    #expect(output.count == 2)
    #expect(child.lines(of: .error).contains { $0.contains("line 2") && $0.contains("titel") })
    let jobs = try await waiting().map { try Job(parsing: $0) }
    #expect(jobs.count == 2)
    #expect(jobs.allSatisfy { $0.id != nil })
  }

  @Test func `enqueue queues nothing on a dry run or for an invalid job`() async throws {
    #expect(try await martlet("enqueue", "--user", "a", "--title", "x", "--dry-run").exitCode == 0)
    #expect(try await martlet("enqueue", "--token", "xyz", "--title", "x").exitCode == 1)
    #expect(try await martlet("enqueue", "--instance", "i", "--title", "x").exitCode == 1)
    #expect(try await martlet("enqueue", "--at-most-once", input: #"{"to":{"user":"a"},"title":"x"}"#).exitCode == 2)
    #expect(try await waiting().isEmpty)
  }

  @Test(arguments: [
    ["--queue", "push:result:x"], ["--queue", ""], ["--queue", "a b"], ["--queue", "{x}"], ["--queue", "a\u{1B}[2J"],
    ["--data", #"{"a":1},"title":"x""#],
    ["--data", "nope"], ["--payload", ""], ["--ttl", "+5"], ["--priority", "９"],
  ])
  func `an invalid option is refused and queues nothing`(words: [String]) async throws {
    let child = try await fleet.martlet(
      ["enqueue", "--user", "a", "--title", "x"] + words, environment: ["MARTLET_QUEUES": queue])
    #expect(child.exitCode == 2)
    #expect(child.lines.first?.hasPrefix("martlet enqueue: \(words[0]) takes ") == true, "\(child.lines)")
    #expect(try await waiting().isEmpty)
    let keys = try await fleet.redis("KEYS", "*\(words[1])*").array ?? []
    #expect(words[0] != "--queue" || words[1].isEmpty || keys.isEmpty)
  }

  @Test func `each hostile line is reported and not queued`() async throws {
    let large = String(repeating: "a", count: 70_000)
    let lines = [
      "\0\0", large, #"{"to":{"user":"a"},"title":"\#(large)"}"#, #"{"to":{"user":"a"},"title":"\#("\0")"}"#,
      "\u{FEFF}{}",
    ]
    let child = try await martlet("enqueue", input: lines.joined(separator: "\n"))
    #expect(child.exitCode == 1)
    #expect(child.lines.count == lines.count)
    for (number, line) in child.lines.enumerated() {
      #expect(line.hasPrefix("martlet enqueue: line \(number + 1): "))
    }
    #expect(try await waiting().isEmpty)
  }

  @Test func `status counts the jobs in the queue`() async throws {
    _ = try await martlet("enqueue", "--user", "a", "--title", "x")
    let child = try await martlet("status", "--json")
    let text = child.lines(of: .output).joined()
    #expect(child.exitCode == 0)
    #expect(text.contains("\"\(queue)\""))
    #expect(text.contains("\"waiting\":1"))
    #expect(try await martlet("status").lines.contains { $0.contains(queue) })
  }

  @Test func `result prints the record or reports that there is no record`() async throws {
    let id = fleet.unique("result")
    #expect(try await martlet("result", id).exitCode == 1)
    try await fleet.redis("SET", QueueKeys.result(id), #"{"id":"x"}"#)
    let child = try await martlet("result", id)
    #expect(child.exitCode == 0)
    #expect(child.lines(of: .output) == [#"{"id":"x"}"#])
  }

  @Test func `dead letters are listed, shown, requeued and purged`() async throws {
    for number in 1...6 {
      let letter = DeadLetter(
        id: "dead-\(number)", reason: number % 2 == 0 ? "BadTopic" : "gave up", at: Int64(number), attempts: 1,
        envelope: Envelope(nonce: "n\(number)", job: Array("{\"id\":\"dead-\(number)\"}".utf8)))
      let command = RedisCommand("ZADD", QueueKeys(queue: queue).dead, "\(number)").with(letter.bytes)
      _ = try await fleet.connection.send(command)
    }
    func ids(_ arguments: String...) async throws -> [String] {
      let child = try await fleet.martlet(
        ["dead", "list", "--json"] + arguments, environment: ["MARTLET_QUEUES": queue])
      struct Entry: Decodable { let id: String }
      return try child.lines(of: .output).map { try JSONDecoder().decode(Entry.self, from: Data($0.utf8)).id }
    }
    #expect(try await ids() == ["dead-6", "dead-5", "dead-4", "dead-3", "dead-2", "dead-1"])
    #expect(try await ids("--reason", "BadTopic", "--limit", "2") == ["dead-6", "dead-4"])
    #expect(try await martlet("dead", "show", "dead-3").lines.contains { $0.contains(#"{"id":"dead-3"}"#) })
    #expect(try await martlet("dead", "show", "nobody").exitCode == 1)

    #expect(try await martlet("dead", "purge", "--dry-run").lines == ["would purge 6"])
    #expect(try await ids().count == 6)
    #expect(try await martlet("dead", "requeue", "--reason", "BadTopic", "--limit", "1").lines == ["requeued 1"])
    #expect(try await fleet.waiting(on: queue) == [Array(#"{"id":"dead-6"}"#.utf8)])
    #expect(try await martlet("dead", "purge", "dead-5").lines == ["purged 1"])
    #expect(try await martlet("dead", "purge", "--reason", "BadTopic").lines == ["purged 2"])
    #expect(try await ids() == ["dead-3", "dead-1"])
  }
}

extension CommandTests {
  @Test func `a dead letter of a worker whose clock is fast is requeued`() async throws {
    let soon = Clock.unixMilliseconds + 3_600_000
    for (number, at) in [soon, soon - 1, 5].enumerated() {
      let letter = DeadLetter(
        id: "fast-\(number)", reason: "gave up", at: at, attempts: 1,
        envelope: Envelope(nonce: "f\(number)", job: Array("{\"id\":\"fast-\(number)\"}".utf8)))
      let command = RedisCommand("ZADD", QueueKeys(queue: queue).dead, "\(at)").with(letter.bytes)
      _ = try await fleet.connection.send(command)
    }
    #expect(try await martlet("dead", "requeue").lines == ["requeued 3"])
    #expect(try await fleet.deadLetters(queue).isEmpty)
  }

  @Test func `status runs until it is interrupted and shows changes`() async throws {
    let child = try ChildProcess(
      try builtProduct("martlet"), ["status", "--watch", "--json"],
      environment: fleet.environment(["MARTLET_QUEUES": queue]))
    try await child.line("an empty queue") { $0.contains(#""waiting":0"#) }
    try await fleet.enqueue(#"{"to":{"user":"a"},"title":"x"}"#, on: queue)
    try await child.line("the job that came") { $0.contains(#""waiting":1"#) }
    child.signal(SIGINT)
    #expect(try await child.exit() == 128 + SIGINT)
  }

  @Test(arguments: ["requeue", "purge"])
  func `a dry run prints the number of dead letters and changes nothing`(verb: String) async throws {
    let worker = try await fleet.worker(on: queue)
    try await fleet.enqueue("no job", on: queue)
    _ = try await fleet.deadLetters(queue, count: 1)
    let dry = try await martlet("dead", verb, "--dry-run")
    #expect(dry.exitCode == 0)
    #expect(dry.lines(of: .output) == ["would \(verb) 1"])
    #expect(try await fleet.deadLetters(queue).count == 1)
    #expect(try await waiting().isEmpty)
    try await worker.stop()
  }
}
