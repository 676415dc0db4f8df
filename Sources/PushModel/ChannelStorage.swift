/// What APNs keeps of the broadcasts to a channel, for devices that are offline. Chosen when the channel is created, for good.
public enum ChannelStorage: String, Sendable, CaseIterable {
  /// Nothing; APNs allows more broadcasts to such a channel. Their expiration must be 0.
  case none
  /// The newest, for 8 hours at most.
  case newest

  /// Apple's `message-storage-policy`.
  public var policy: Int { self == .none ? 0 : 1 }

  public init?(policy: Int) {
    switch policy {
    case 0: self = .none
    case 1: self = .newest
    default: return nil
    }
  }
}
