import RepriseCore

extension Notices {
    /// What can arrive now, how it is shown, and until when.
    ///
    /// By what the system has said last about permission and time, and by whether there is a
    /// connection.
    public var availability: NoticeAvailability {
        get async {
            await availability(in: driver.scene.isForeground ? .foreground : .background)
        }
    }

    /// What will be able to arrive when the system has done something with the app.
    ///
    /// - Parameter state: what the system does with the app; what it may do with one that is ended
    ///   depends on who has ended it, which the app does not learn.
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
