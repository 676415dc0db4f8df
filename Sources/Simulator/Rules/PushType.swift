/// The values of `apns-push-type` and what each asks of the topic.
enum PushType: String, CaseIterable {
  case alert, background, voip, complication, fileprovider, location, liveactivity, pushtotalk, controls, widgets, mdm

  init?(_ bytes: ArraySlice<UInt8>) {
    guard let type = PushType.allCases.first(where: { bytes.elementsEqual($0.rawValue.utf8) }) else { return nil }
    self = type
  }

  /// How the topic must end.
  var topicSuffix: StaticString {
    switch self {
    case .alert, .background, .mdm: ""
    case .voip: ".voip"
    case .complication: ".complication"
    case .fileprovider: ".pushkit.fileprovider"
    case .location: ".location-query"
    case .liveactivity: ".push-type.liveactivity"
    case .pushtotalk: ".voip-ptt"
    case .controls: ".push-type.controls"
    case .widgets: ".push-type.widgets"
    }
  }

  /// Bytes.
  var maximumPayload: Int {
    self == .voip ? 5120 : 4096
  }
}
