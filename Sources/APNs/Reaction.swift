/// What the client itself does about an answer.
enum Reaction: Equatable {
  /// Report it.
  case finish
  /// Report it; it does not prove that the provider token is good.
  case refused
  /// Try again, with a provider token that has changed meanwhile.
  case resend
  /// The same on a new connection: APNs may go on refusing everything on this one.
  case resendRenewed
  /// Try again on another connection.
  case resendElsewhere
}
