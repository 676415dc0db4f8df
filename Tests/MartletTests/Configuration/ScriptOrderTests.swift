import Foundation
import Testing

/// Redis keeps what a script wrote before an error. So a script reads what may have another type before it changes anything.
struct ScriptOrderTests {
  private static let changes: Set<Substring> = [
    "SET", "DEL", "UNLINK", "SADD", "SREM", "SPOP", "ZADD", "ZREM", "ZINCRBY", "ZREMRANGEBYSCORE", "ZREMRANGEBYRANK",
    "HSET", "HDEL", "HINCRBY", "LPUSH", "RPUSH", "LPOP", "RPOP", "LMOVE", "LTRIM", "LREM", "LSET", "XADD", "XTRIM",
    "INCR", "INCRBY", "RENAME", "APPEND",
  ]
  /// They never fail because of a type.
  private static let safe: Set<Substring> = [
    "SET", "DEL", "UNLINK", "PERSIST", "EXPIRE", "PEXPIRE", "EXISTS", "TYPE", "TTL", "PTTL", "TIME", "MGET",
  ]

  /// Returns each call that may fail because of the type of a key which the script names for the first time after a change.
  private func faults(_ script: Substring) -> [String] {
    var (faults, named, hasChanged): ([String], Set<Substring>, Bool) = ([], [], false)
    for line in script.split(separator: "\n") {
      let code = line.firstRange(of: "--").map { line[..<$0.lowerBound] } ?? line
      for call in code.matches(of: /redis\.call\('(\w+)', *([A-Za-z_]\w*)/) {
        if hasChanged, !Self.safe.contains(call.1), !named.contains(call.2) { faults.append("\(call.1) \(call.2)") }
        if Self.changes.contains(call.1) { hasChanged = true }
      }
      named.formUnion(code.matches(of: /[A-Za-z_]\w*/).map(\.0))
    }
    return faults
  }

  @Test func `every script reads what can fail before its first write`() throws {
    let root = URL(filePath: #filePath).appending(path: "../../../../Sources").standardizedFileURL
    let files = try #require(FileManager.default.enumerator(atPath: root.path)).compactMap { $0 as? String }
    var count = 0
    for file in files where file.hasSuffix(".swift") && !file.contains("/Tests/") {
      let text = try String(contentsOf: root.appending(path: file), encoding: .utf8)
      for script in text.matches(of: /let (\w+) = RedisScript\([^"]*(?:"[^"\n]+"[^"]*)*?\s*"""\n((?s).*?)\n\s*"""/) {
        count += 1
        #expect(faults(script.2) == [], "\(file): \(script.1)")
      }
    }
    #expect(count > 50)
  }

  @Test func `a read after a change is found, unless its key is known or its type does not matter`() {
    #expect(faults("redis.call('ZREM', dead, x)\nredis.call('GET', seal)") == ["GET seal"])
    #expect(faults("redis.call('GET', seal)\nredis.call('ZREM', dead, x)\nredis.call('GET', seal)") == [])
    #expect(faults("redis.call('DEL', a)\nredis.call('ZADD', b, 1, x)") == ["ZADD b"])
    #expect(
      faults("redis.call('PEXPIRE', a, 1)\nredis.call('LLEN', b)\nredis.call('DEL', a)\nredis.call('SET', c, 1)") == [])
  }
}
