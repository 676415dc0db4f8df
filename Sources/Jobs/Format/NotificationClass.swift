/// A notification class of contracts/nyra-apns-base-1.0.md.
public enum NotificationClass: String, Sendable, CaseIterable {
  case attentionPing = "attention_ping"
  case actionNeeded = "action_needed"
  case messageDelivered = "message_delivered"
  case safetyCritical = "safety_critical"

  /// What the notification says when the job has no preview: short and neutral, as the contract asks.
  public var defaultPreview: String {
    switch self {
    case .attentionPing: "There’s something to review when you’re free."
    case .actionNeeded: "Action needed: a decision is pending."
    case .messageDelivered: "A new message is available."
    case .safetyCritical: "A safety notice is available."
    }
  }
}
