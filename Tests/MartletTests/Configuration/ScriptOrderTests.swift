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

  /// The text of each file with scripts, by its path.
  private static func files() throws -> [(path: String, text: String)] {
    let root = URL(filePath: #filePath).appending(path: "../../../../Sources").standardizedFileURL
    let paths = try #require(FileManager.default.enumerator(atPath: root.path)).compactMap { $0 as? String }
    return try paths.filter { $0.hasSuffix(".swift") && !$0.contains("/Tests/") && !$0.hasSuffix("/RedisScript.swift") }
      .compactMap { path in
        let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        return text.contains("= RedisScript(") ? (path, text) : nil
      }
  }

  @Test func `every script reads what can fail before its first write`() throws {
    var count = 0
    for (file, text) in try ScriptOrderTests.files() {
      for script in text.matches(of: /let (\w+) = RedisScript\([^"]*(?:"[^"\n]+"[^"]*)*?\s*"""\n((?s).*?)\n\s*"""/) {
        count += 1
        #expect(faults(script.2) == [], "\(file): \(script.1)")
      }
    }
    #expect(count > 50)
  }

  @Test func `the function below a script takes its words, and gives them to it in their order`() throws {
    let left = ["record", "reply", "stream", "readers"],
      leftArguments = ["json", "ttl", "author", "notifications", "events"]
    func words(_ list: Substring?) -> [String] {
      guard let list else { return [] }
      let own = list.matches(of: /"(\w+)(?:\.\.\.)?"/).map { String($0.1) }
      return own + (list.contains("leftKeys") ? left : []) + (list.contains("leftArguments") ? leftArguments : [])
    }
    func values(_ list: Substring?) -> [String] { (list ?? "").matches(of: /\w+/).map { String($0.0) } }
    let declaration =
      #/let (\w+)Script = RedisScript\(\s*keys: (\[[^\]]*\](?:\s*\+ \w+)?)(?:,\s*arguments: (\[[^\]]*\](?:\s*\+ \w+)?))?/#
    let function =
      #/\n\n +(?:\w+ )*func (\w+)\(([^{]*?)\)\s*->\s*RedisCall\s*\{\s*(\w+)\.call\(\s*keys: ([^:]*?)(?:,\s*arguments: ([^:]*?))?\)\s*\}/#
    var count = 0
    for (file, text) in try ScriptOrderTests.files() {
      let scripts = text.matches(of: declaration)
      #expect(scripts.count == text.matches(of: /\w = RedisScript\(/).count, "\(file)")
      for script in scripts {
        let name = script.1
        let call = try #require(text[script.range.upperBound...].firstMatch(of: function), "\(file): \(name)")
        let (keys, arguments) = (words(script.2), words(script.3))
        #expect(call.1 == name && call.3 == name + "Script", "\(file): \(name)")
        #expect(call.2.matches(of: #/(\w+): /#).map { String($0.1) } == keys + arguments, "\(file): \(name)")
        #expect(values(call.4) == keys && values(call.5) == arguments, "\(file): \(name)")
        count += 1
      }
    }
    #expect(count > 50)
  }

  @Test func `a module has its scripts in one file`() throws {
    let modules = try ScriptOrderTests.files().map { file in
      let folders = file.path.split(separator: "/")
      return folders[folders[0] == "Parts" ? 1 : 0]
    }
    #expect(modules.count == Set(modules).count, "\(modules.sorted())")
  }

  @Test func `a read after a change is found, unless its key is known or its type does not matter`() {
    #expect(faults("redis.call('ZREM', dead, x)\nredis.call('GET', seal)") == ["GET seal"])
    #expect(faults("redis.call('GET', seal)\nredis.call('ZREM', dead, x)\nredis.call('GET', seal)") == [])
    #expect(faults("redis.call('DEL', a)\nredis.call('ZADD', b, 1, x)") == ["ZADD b"])
    #expect(
      faults("redis.call('PEXPIRE', a, 1)\nredis.call('LLEN', b)\nredis.call('DEL', a)\nredis.call('SET', c, 1)") == [])
  }
}
