public import PushModel

/// Tests write tokens as text.
extension DeviceToken: ExpressibleByStringInterpolation {
  public init(stringLiteral text: String) { self.init(text) }
}
