import APNs
import Jobs

extension APNs.PushType {
  init(_ pushType: Jobs.PushType) {
    switch pushType {
    case .alert: self = .alert
    case .background: self = .background
    case .voip: self = .voip
    case .complication: self = .complication
    case .fileprovider: self = .fileprovider
    case .location: self = .location
    case .liveactivity: self = .liveactivity
    case .pushtotalk: self = .pushtotalk
    case .controls: self = .controls
    case .widgets: self = .widgets
    case .mdm: self = .mdm
    }
  }
}
