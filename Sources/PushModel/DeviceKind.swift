/// What a device token is for. A phone has a token of its own for each kind, and APNs accepts each only under the topic of its
/// kind.
public enum DeviceKind: String, Sendable, CaseIterable {
  case app, voip, complication, fileprovider, location, widgets, controls, pushtotalk

  /// How long a registration is kept, in seconds: a year, or a day for `pushtotalk`, whose tokens are made for each channel
  /// that is joined.
  public var lifetime: Int { self == .pushtotalk ? 86_400 : 31_536_000 }
}
