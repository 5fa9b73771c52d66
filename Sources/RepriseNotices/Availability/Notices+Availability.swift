import RepriseCore

extension Notices {
    /// What can arrive now, how it is shown, and until when.
    ///
    /// Uses the last known permission, granted time and connection.
    public var availability: NoticeAvailability {
        get async {
            await availability(in: driver.scene.isForeground ? .foreground : .background)
        }
    }

    /// What can arrive in another app state.
    ///
    /// - Parameter state: the app's process state; the app does not learn whether it was
    ///   force-quit.
    /// - Returns: what can arrive then.
    public func availability(in state: NoticeAvailability.AppState) async -> NoticeAvailability {
        let clock = configuration.timekeeper
        let until = driver.scene.backgroundUntil.map {
            clock.wall().advanced(by: $0 - clock.uptime())
        }
        return .of(
            NoticeAvailability.Situation(
                state: state,
                settings: await driver.permission
                    ?? NotificationSettings(authorization: .notDetermined),
                isPushRegistered: settings.push != nil, isConnected: driver.scene.isConnected,
                backgroundUntil: until))
    }
}
