public import PushModel

/// A route was paused, or resumed.
public enum RouteChange: Sendable, Equatable {
  case paused(RouteNotice)
  /// The notice is that of the pause.
  case resumed(RouteNotice)
}
