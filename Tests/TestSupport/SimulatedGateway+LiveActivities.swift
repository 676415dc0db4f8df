import Foundation

extension SimulatedGateway {
  /// A device with Live Activities, as the control port describes it.
  public struct LiveDevice: Decodable, Sendable {
    public let deviceId: String
    public let online: Bool
    /// Pushes that no activity can take.
    public let ignored: Int
    public let activities: [Activity]

    public struct Activity: Decodable, Sendable {
      public let activityId: String
      /// How many were ever shown.
      public let cards: Int
      public let starts: Int
      public let applied: Int
      public let older: Int
      public let afterEnd: Int
      public let lost: Int
      /// Unix seconds.
      public let newestLost: Int64?
      /// All cards, the oldest first.
      public let shown: [Card]
    }

    public struct Card: Decodable, Sendable {
      /// Unix seconds.
      public let timestamp: Int64
      /// Texts only.
      public let contentState: [String: String]?
      public let ended: Bool
      public let channel: String?
      public let token: String?
      /// Whether the sidecar has taken the token.
      public let reported: Bool
    }
  }

  /// Adds a device, or replaces it. `startTokens`: by attributes type. `others`: further members of the command, as JSON.
  public func addLiveDevice(
    _ id: String, of username: String, startTokens: [String: String], sidecar: String? = nil, _ others: String = ""
  ) async throws {
    let tokens = startTokens.map { "\"\($0.key)\":\"\($0.value)\"" }.joined(separator: ",")
    let members =
      (sidecar.map { #","sidecar":"\#($0)""# } ?? "") + (others.isEmpty ? "" : ",\(others)")
    try await control(
      "/live-activities", "-d",
      #"{"deviceId":"\#(id)","bundleId":"com.example.demo","username":"\#(username)","startTokens":{\#(tokens)}\#(members)}"#
    )
  }

  public func setLiveDevice(_ id: String, online: Bool) async throws {
    try await control("/live-activities", "-d", #"{"deviceId":"\#(id)","online":\#(online)}"#)
  }

  /// Replaces the update tokens of an activity.
  public func rotateTokens(of activity: String, on id: String) async throws {
    try await control("/live-activities", "-d", #"{"deviceId":"\#(id)","rotate":"\#(activity)"}"#)
  }

  public func liveDevices() async throws -> [LiveDevice] {
    try JSONDecoder().decode([LiveDevice].self, from: Data(try await control("/live-activities").utf8))
  }
}
