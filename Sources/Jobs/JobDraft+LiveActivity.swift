import PushModel

/// How the fields of a job to a Live Activity go together.
extension JobDraft {
  func content(
    _ activity: LiveActivity, for addressee: Addressee, as pushType: PushType
  ) throws(JobError) -> JobContent {
    guard pushType == .liveactivity else {
      throw JobError(reason: "pushType: a job with liveActivity is a liveactivity")
    }
    for key in [JobKey.payload, .class, .preview] where has(key) {
      throw JobError(reason: "\(key): not together with liveActivity")
    }
    try refuseNotification(keeping: [.title, .body, .sound, .data]) {
      "\($0): not together with liveActivity, which takes title, body, sound and data"
    }
    switch (addressee, activity.event) {
    case (.user, .start), (.token, _), (.tokens, _), (.activity, .update), (.activity, .end): break
    case (.channel, .start):
      throw JobError(
        reason: "to: a channel cannot start a Live Activity; name it in liveActivity.inputChannel of a start")
    case (.channel, _):
      guard collapseID == nil else { throw JobError(reason: "collapseId: not for a channel, which has no such thing") }
    case (.activity, .start), (.activityToken, .start):
      throw JobError(
        reason: "to: a start goes to a user or to push-to-start tokens; liveActivity.id names the activity")
    case (.activityToken, _):
      throw JobError(reason: "liveActivity: not to a token of an activity, which gets the newest state")
    case (_, .start): throw JobError(reason: "to: liveActivity start goes to a user or to push-to-start tokens")
    default: throw JobError(reason: "to: liveActivity \(activity.event) goes to an activity or to tokens of it")
    }
    if activity.isShared {
      guard case .activity(_, user: nil) = addressee else {
        throw JobError(reason: "liveActivity.shared: only of an update or an end to to.activity without to.user")
      }
    }
    guard activity.event != .start || notification.title != nil || notification.body != nil else {
      throw JobError(reason: "title: missing; the start of a Live Activity needs title or body")
    }
    guard notification.sound == nil || notification.hasAlert else {
      throw JobError(reason: "sound: only together with title or body; it is a part of the alert of a Live Activity")
    }
    // Only a broadcast may have the lowest one.
    let isBroadcast = if case .channel = addressee { true } else { false }
    guard priority != 1 || isBroadcast else {
      throw JobError(reason: "priority: must be 5 or 10 for a Live Activity")
    }
    return .activity(activity, notification)
  }

  func newestState(for addressee: Addressee, as pushType: PushType) throws(JobError) -> JobContent {
    guard pushType == .liveactivity else { throw JobError(reason: "pushType: a job to an activity is a liveactivity") }
    guard case .activityToken = addressee else {
      throw JobError(reason: "liveActivity: missing; a job to an activity updates or ends it")
    }
    for key in [JobKey.payload, .class, .preview] where has(key) {
      throw JobError(reason: "\(key): not to a token of an activity, which gets the newest state")
    }
    try refuseNotification { "\($0): not to a token of an activity, which gets the newest state" }
    return .newestState
  }

  func defaultPriority(of content: JobContent, as pushType: PushType) -> Int {
    guard case .activity(let activity, let notification) = content else { return pushType.defaultPriority }
    return activity.event == .update && !notification.hasAlert ? 5 : 10
  }
}
