import JSON

/// What an error reply of a cluster asks the client to do.
enum Redirection: Equatable {
  /// The slot belongs to this server from now on.
  case moved(slot: Int, ClusterTopology.Server)
  /// The key is on its way: only this command goes to this server, after ASKING.
  case ask(ClusterTopology.Server)
  /// Some keys of the command have moved already.
  case tryAgain
  /// The cluster, or this server, cannot serve the slot now.
  case unavailable

  /// `MOVED 3999 127.0.0.1:6381`; an empty host is that of the server that replied. Nil for any other error.
  init?(_ error: RedisReplyError, from server: ClusterTopology.Server) {
    switch error.code {
    case "MOVED", "ASK":
      let words = error.message.split(separator: " ")
      guard words.count >= 3, let slot = words[1].integer(in: 0...HashSlot.count - 1),
        let target = Redirection.server(words[2], from: server)
      else { return nil }
      self = error.code == "ASK" ? .ask(target) : .moved(slot: slot, target)
    case "TRYAGAIN": self = .tryAgain
    case "CLUSTERDOWN", "MASTERDOWN", "LOADING": self = .unavailable
    default: return nil
    }
  }

  /// `host:port`; the address of IPv6 stands without brackets.
  private static func server(_ text: Substring, from asked: ClusterTopology.Server) -> ClusterTopology.Server? {
    guard let colon = text.lastIndex(of: ":"),
      let port: UInt16 = text[text.index(after: colon)...].integer(in: 1...UInt16.max)
    else {
      return nil
    }
    var host = text[..<colon]
    if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
    if host.isEmpty { return ClusterTopology.Server(host: asked.host, port: port) }
    return ClusterTopology.Server.isHost(host) ? ClusterTopology.Server(host: String(host), port: port) : nil
  }
}
