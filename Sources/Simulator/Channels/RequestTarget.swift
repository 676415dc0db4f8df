/// What a request asks for. The port and the path say it.
enum RequestTarget: Equatable {
  /// Anything that is neither of the others.
  case push
  /// `/4/broadcasts/apps/<bundle id>` on the port for pushes.
  case broadcast(bundleID: String)
  /// `/1/apps/<bundle id>/channels`.
  case channel(bundleID: String)
  /// `/1/apps/<bundle id>/all-channels`.
  case allChannels(bundleID: String)
  /// Another path on the port for channels.
  case unknown

  /// What a fault may be limited to.
  enum Kind: String, CaseIterable {
    case pushes, broadcasts, channels
  }

  var kind: Kind {
    switch self {
    case .push: .pushes
    case .broadcast: .broadcasts
    case .channel, .allChannels, .unknown: .channels
    }
  }

  /// Nil for a push or a path that names no app.
  var bundleID: String? {
    switch self {
    case .push, .unknown: nil
    case .broadcast(let bundleID), .channel(let bundleID), .allChannels(let bundleID): bundleID
    }
  }

  init(_ head: RequestHead, on port: Port) {
    switch port {
    case .pushes:
      let path = head[.path] ?? []
      guard path.starts(with: RequestTarget.broadcastPath) else {
        self = .push
        return
      }
      self = .broadcast(bundleID: String(decoding: path.dropFirst(RequestTarget.broadcastPath.count), as: UTF8.self))
    case .channels:
      let parts = String(decoding: head[.path] ?? [], as: UTF8.self).split(
        separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 5, parts[0].isEmpty, parts[1] == "1", parts[2] == "apps", !parts[3].isEmpty else {
        self = .unknown
        return
      }
      switch parts[4] {
      case "channels": self = .channel(bundleID: String(parts[3]))
      case "all-channels": self = .allChannels(bundleID: String(parts[3]))
      default: self = .unknown
      }
    }
  }

  /// The ports of the gateway.
  enum Port {
    /// Pushes and broadcasts.
    case pushes
    /// Management of channels.
    case channels
  }

  private static let broadcastPath = Array("/4/broadcasts/apps/".utf8)
}
