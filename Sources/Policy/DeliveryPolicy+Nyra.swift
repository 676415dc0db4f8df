extension DeliveryPolicy {
  /// The built-in policy of docs/policy.md, without quiet hours: they are the owner's.
  public static let nyra = DeliveryPolicy(
    name: "nyra", title: "Nyra", member: "nyra",
    classes: [
      PolicyClass(
        name: "attention_ping", urgency: .low, preview: "There’s something to review when you’re free.",
        collapse: .init(seconds: 60, isShared: true), quiet: .deferCollapsed),
      PolicyClass(
        name: "action_needed", urgency: .medium, preview: "Action needed: a decision is pending.", quiet: .suppress),
      PolicyClass(
        name: "message_delivered", urgency: .low, preview: "A new message is available.",
        collapse: .init(seconds: 60, isShared: true), quiet: .deferCollapsed),
      PolicyClass(
        name: "safety_critical", urgency: .high, preview: "A safety notice is available.", spacingSeconds: 120,
        quiet: .pass),
    ],
    limits: [RateLimit(count: 3, seconds: 300), RateLimit(count: 20, seconds: 86_400)], retrySeconds: 60)
}
