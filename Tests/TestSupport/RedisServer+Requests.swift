extension RedisServer {
  /// Makes the server keep the requests of all clients from now on.
  public func keepRequests() async throws {
    try await redisCLI("CONFIG", "SET", "slowlog-max-len", "1000000")
    try await redisCLI("CONFIG", "SET", "slowlog-log-slower-than", "0")
  }

  /// The number of words of the longest request since ``keepRequests()``, if it has more than 32.
  public func longestRequest() async throws -> Int {
    // Of a long one the server keeps 31 words, and the number of the others: `... (5 more arguments)`.
    let others = #"""
      redis-cli -s "$1" --raw SLOWLOG GET 1000000 |
        sed -n 's/^\.\.\. (\([0-9]*\) more arguments)$/\1/p' | sort -n | tail -n 1
      """#
    let longest = try await ChildProcess.run("sh", ["-c", others, "sh", socketPath])
    return 31 + (Int(longest.filter(\.isNumber)) ?? 0)
  }
}
