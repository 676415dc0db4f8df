import EventLoop
import JSON
import Operations
import Program
import Queue
import Redis

/// Checks how much memory Redis uses, and what fills it: by the keys whose names are known, and a sample of the others.
@EventLoop
struct MemoryExamination {
  private static let check = "redis memory"
  /// Keys of a server that are looked at.
  private static let sample = 2000
  private static let dedupeBytes = 150.0

  let connection: RedisClient
  let queues: [String]

  func findings() async throws(RedisError) -> [Finding] {
    var findings: [Finding] = []
    for server in 0..<connection.serverCount {
      guard let memory = ServerMemory(try await connection.info(ofServer: server)) else { continue }
      findings.append(MemoryExamination.finding(memory, try await parts(of: server)))
    }
    return findings
  }

  /// `parts`: bytes by what they are for; nil if this user may not ask.
  static func finding(_ memory: ServerMemory, _ parts: [MemoryPart: Double]?) -> Finding {
    let lifetime = MemoryReport(stage: .ample, server: memory, lifetime: .zero, longestLifetime: .zero)
    let text =
      lifetime.usage
      + (parts.map { shares($0, of: memory.used) } ?? "; by kind unknown: this user may not ask MEMORY USAGE")
    guard memory.maximum != nil else {
      return Finding(
        check, .warning, text,
        fix: "set maxmemory to what the machine can give: without it the kernel ends Redis when the machine is full")
    }
    if memory.share < MemoryStage.shortShare { return Finding(check, .ok, text) }
    return Finding(
      check, memory.share < MemoryStage.fullShare ? .warning : .problem, text,
      fix: "raise maxmemory, or find out what fills it" + advice(parts ?? [:]))
  }

  /// `: records 61 %, devices 20 %, other 19 %`, the largest first. What is not known to be Martlet's is other.
  private static func shares(_ parts: [MemoryPart: Double], of used: Int64) -> String {
    let known = parts.filter { $0.key != .other }
    let sum = known.values.reduce(0, +)
    // A sample may tell too much.
    let all = max(Double(used), sum)
    let largest = (known.map { ($0.key.rawValue, $0.value) } + [(MemoryPart.other.rawValue, all - sum)])
      .map { (name: $0, percent: ($1 / all * 100).rounded().integer(in: 0...100) ?? 0) }.filter { $0.percent > 0 }
      .sorted { ($1.percent, $0.name) < ($0.percent, $1.name) }
    return ": " + largest.map { "\($0.name) \($0.percent) %" }.joined(separator: ", ")
  }

  private static func advice(_ parts: [MemoryPart: Double]) -> String {
    switch parts.max(by: { $0.value < $1.value })?.key {
    case .jobs: "; jobs wait: start more workers, or find out why these are slow"
    case .deadLetters: "; requeue or delete dead letters: martlet dead"
    case .records: "; lower MARTLET_RECORD_MEMORY or MARTLET_RESULT_TTL"
    case .notifications: "; set MARTLET_NOTIFICATION_LOG=off if nobody polls"
    case .devices, .events, .dedupe, .other, nil: ""
    }
  }

  // MARK: - What fills it

  private func parts(of server: Int) async throws(RedisError) -> [MemoryPart: Double]? {
    var parts: [MemoryPart: Double] = [:]
    do throws(RedisError) {
      let large = try await largeKeys(of: server)
      for (key, bytes) in zip(large, try await sizes(of: large, on: server)) {
        parts[MemoryPart(key: key), default: 0] += bytes
      }
      let sample = try await sample(of: server, without: Set(large))
      let all = try await connection.send(RedisCommand("DBSIZE"), toServer: server).count ?? 0
      let scale = sample.isEmpty ? 0 : Double(max(0, all - large.count)) / Double(sample.count)
      for (key, bytes) in zip(sample, try await sizes(of: sample, on: server)) {
        parts[MemoryPart(key: key), default: 0] += bytes * max(1, scale)
      }
    } catch .reply {
      return nil
    }
    return parts
  }

  /// The keys that may be large and are too few to be in a sample.
  private func largeKeys(of server: Int) async throws(RedisError) -> [String] {
    var keys = ["push:events"]
    for queue in queues.map(QueueKeys.init(queue:)) {
      keys += [queue.queue, queue.retry, queue.scheduled, queue.dead]
      let names = try await connection.send(queue.namesOfWorkers).array ?? []
      keys += names.compactMap(\.string).map(queue.inflight)
    }
    return keys.filter { connection.server(of: $0) == server }
  }

  private func sample(of server: Int, without known: Set<String>) async throws(RedisError) -> [String] {
    var (keys, cursor): (Set<String>, String) = ([], "0")
    repeat {
      let page = try await connection.keys(server: server, from: cursor)
      keys.formUnion(page.keys.map { String(decoding: $0, as: UTF8.self) })
      cursor = page.next
    } while cursor != "0" && keys.count < MemoryExamination.sample
    return Array(keys.subtracting(known))
  }

  private func sizes(of keys: [String], on server: Int) async throws(RedisError) -> [Double] {
    // An operator has no right to the other keys, and does not need one.
    let asked = keys.filter { ![.other, .dedupe].contains(MemoryPart(key: $0)) }
    let replies = await EventLoop.gather(asked) { key, reply in
      connection.send(RedisCommand("MEMORY", "USAGE", key), toServer: server, reply)
    }
    var sizes: [String: Double] = [:]
    for (key, reply) in zip(asked, replies) { sizes[key] = Double(try reply.get().count ?? 0) }
    return keys.map { sizes[$0] ?? (MemoryPart(key: $0) == .dedupe ? MemoryExamination.dedupeBytes : 0) }
  }
}

/// What a key of Redis is for.
enum MemoryPart: String, CaseIterable {
  case jobs
  case deadLetters = "dead letters"
  case devices
  case records
  case notifications = "notification records"
  case events
  case dedupe = "dedupe values"
  /// What this user of Redis may not ask for, and other programs' keys.
  case other

  /// By the names in docs/redis-keys.md.
  init(key: String) {
    let isMartlets = key.hasPrefix("martlet:")
    switch key {
    case "push:events": self = .events
    case _ where key.hasPrefix("push:result:"): self = .records
    // Before others: a value may be any text.
    case _ where isMartlets && (key.hasPrefix("martlet:{dedupe}:") || key.contains("}:dedupe:")): self = .dedupe
    case _ where key.hasSuffix(":notifications"): self = .notifications
    case _ where key.hasPrefix("push:jobs"): self = .jobs
    case _ where isMartlets && key.hasSuffix(":dead"): self = .deadLetters
    case _ where isMartlets && key.contains("}:") && MemoryPart.isOfQueue(key): self = .jobs
    case _ where key.hasPrefix("push:"): self = .devices
    default: self = .other
    }
  }

  private static func isOfQueue(_ key: String) -> Bool {
    let end = key.split(separator: "}:").last ?? ""
    return ["retry", "scheduled", "inflight:", "landing:"].contains {
      end == $0 || ($0.hasSuffix(":") && end.hasPrefix($0))
    }
  }
}
