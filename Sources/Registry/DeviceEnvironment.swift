/// Which of APNs' gateways a token belongs to.
public enum DeviceEnvironment: String, Sendable {
  case sandbox, production
}
