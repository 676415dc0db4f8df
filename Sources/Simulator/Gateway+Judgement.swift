extension Gateway {
  /// What a whole push is answered with at `now`, unix nanoseconds.
  func judge(_ stream: PushStream, provider: inout ConnectionProvider, now: UInt64) -> Answer {
    if let refusal = refusal(ofHead: stream.head, provider: &provider, now: now) { return refusal }
    let isObject = stream.bodyCount > PushStream.keptBody || isJSONObject(stream.body)
    return rules.refusal(ofBody: stream.bodyCount, isObject: isObject, head: stream.head)
      ?? devices.refusal(of: stream.head) ?? .accepted
  }

  /// Apple's order: what is asked for, who asks, then the rest.
  func refusal(ofHead head: RequestHead, provider: inout ConnectionProvider, now: UInt64) -> Answer? {
    rules.refusalOfTarget(head) ?? refusalOfProvider(head, &provider, now: Int64(now / 1_000_000_000))
      ?? rules.refusalOfFields(head)
  }

  private func refusalOfProvider(_ head: RequestHead, _ provider: inout ConnectionProvider, now: Int64) -> Answer? {
    guard settings.checksAuthorization else { return nil }
    return provider.decision(
      on: head[.authorization], by: &verifier, updateSeconds: settings.tokenUpdateSeconds, now: now
    ).refusal
  }
}
