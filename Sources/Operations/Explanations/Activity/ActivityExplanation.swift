public import JSON
import PushModel
public import Registry

/// What a Live Activity shows, which devices it reaches, and what waits.
public struct ActivityExplanation: Sendable {
  /// The newest state for all devices, or for those of one user.
  public struct State: Sendable, Equatable {
    /// Nil for all.
    public var user: String?
    public var job: String
    public var isEnd: Bool
    /// Whether it is for everyone who has registered a token.
    public var isShared = false
    /// The timestamp that is sent, in unix seconds.
    public var timestamp: Int64
    /// `open`, `waiting` or `settled`.
    public var phase: String
    /// When the phase began, in unix ms.
    public var since: Int64
    /// When a waiting state is given up, in unix ms; nil if it is not known.
    public var until: Int64?
    /// Tokens for which APNs accepted it.
    public var reached: Int

    var object: JSONObject {
      [
        "user": user, "job": job, "event": isEnd ? "end" : "update",
        "shared": isShared ? true : nil, "timestamp": timestamp, "phase": phase,
        "since": since, "until": until, "reached": reached,
      ]
    }
  }

  /// An update token.
  public struct Token: Sendable, Equatable {
    public var device: Device
    /// As it is shown: shortened unless whole tokens were asked for.
    public var name: String
    /// Whether the activity is known to be its user's, or everyone's.
    public var isExpected = true
    /// Whether APNs accepted the newest state for it; nil if there is no state.
    public var isCurrent: Bool?

    var object: JSONObject {
      [
        "token": name, "user": device.username, "app": device.bundleID, "environment": device.environment?.rawValue,
        "deviceId": device.deviceID, "registeredAt": device.updatedAt, "frequentPushes": device.frequentPushes,
        "current": isCurrent, "stranger": isExpected ? nil : true,
      ]
    }
  }

  /// The outcome in one sentence, and what decides it.
  public var summary: AddresseeExplanation
  public var states: [State]
  public var tokens: [Token]
  /// Devices that a start was sent to.
  public var starts: Int
  /// The name of the channel that updates the activity instead of tokens.
  public var channel: String?

  public var isKnown: Bool { summary.isKnown }

  /// `{"subject","reachable","outcome","findings":[…],"states":[{"user"?,"job","event","shared"?,"timestamp","phase","since",
  /// "until"?,"reached"}…],"tokens":[{"token","user"?,"app"?,"environment"?,"deviceId"?,"registeredAt","frequentPushes"?,
  /// "current"?,"stranger"?}…],"starts","channel"?}`, times in unix ms, `timestamp` in unix seconds.
  public var object: JSONObject {
    summary.object + [
      "states": states.map(\.object), "tokens": tokens.map(\.object), "starts": starts, "channel": channel,
    ]
  }
}
