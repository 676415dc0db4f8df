import APNs
import PushModel

/// What the answers of both environments about one token mean. A token belongs to one of them, and the other calls it invalid.
struct EnvironmentLook: Equatable {
  /// Accepted: the device belongs to the environment that was asked second.
  let outcome: PushOutcome
  /// Whether the first answer counts, because no key may ask the other environment.
  let isOfFirst: Bool

  /// `first` calls the token invalid. `mayRemove` is what route and job say about a removal for each answer.
  init(first: SendOutcome, second: SendOutcome, mayRemove: (first: Bool, second: Bool)) {
    isOfFirst = second.isRefusalOfKey
    if isOfFirst {
      outcome = PushOutcome(first, removalAllowed: mayRemove.first)
    } else {
      // Only a 410 is a proof by itself. Any other refusal says that the token may be valid there.
      let isProven = second.isBadDeviceToken ? mayRemove.first && mayRemove.second : second.status == 410
      outcome = PushOutcome(second, removalAllowed: isProven)
    }
  }
}

extension SendOutcome {
  /// Whether APNs does not know the token in the environment that it was asked in.
  var isBadDeviceToken: Bool {
    if case .answered(let answer) = self { answer.status == 400 && answer.reason == "BadDeviceToken" } else { false }
  }

  /// Whether the key may not send to the environment and topic.
  var isRefusalOfKey: Bool {
    switch self {
    case .answered(let answer): [400, 403].contains(answer.status) && PushReason.of(answer.reason ?? "").isOfKey
    case .notProcessed(let why):
      why.hasPrefix(SendOutcome.pausedRoute)
        && PushReason.of(String(why.dropFirst(SendOutcome.pausedRoute.count))).isOfKey
    case .uncertain: false
    }
  }

  /// What the client says of a push to a paused route, before the reason.
  private static let pausedRoute = "RoutePaused: "
}
