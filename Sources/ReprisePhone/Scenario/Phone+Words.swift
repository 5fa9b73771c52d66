public import RepriseCore

/// The actions of a scenario; each throws as ``Phone/ask(_:)``.
extension Phone {
    /// Installs an app, or replaces its program.
    public func install(_ app: PhoneAppSpec) async throws { try await ask(.install(app)) }

    /// The user opens the app.
    public func launch(_ app: String? = nil) async throws { try await ask(.launch(app: app)) }

    /// The user does something with a notification; nil is the newest.
    public func tap(
        _ notification: String? = nil, _ action: NotificationResponse.Action = .open,
        app: String? = nil
    ) async throws {
        try await ask(.tap(app: app, notification: notification, action: action))
    }

    /// The user dismisses a notification; nil is the newest.
    public func dismiss(_ notification: String? = nil, app: String? = nil) async throws {
        try await tap(notification, .dismiss, app: app)
    }

    /// The user goes to the home screen.
    public func home() async throws { try await ask(.home) }

    /// The system terminates the app.
    public func kill(_ app: String? = nil) async throws { try await ask(.kill(app: app)) }

    /// The user throws the app out of the app switcher.
    public func forceQuit(_ app: String? = nil) async throws { try await ask(.forceQuit(app: app)) }

    /// The system suspends the app at once.
    public func suspend(_ app: String? = nil) async throws { try await ask(.suspend(app: app)) }

    /// The system lets a suspended app run again.
    public func resume(_ app: String? = nil) async throws { try await ask(.resume(app: app)) }

    /// Memory is short.
    public func memoryPressure() async throws { try await ask(.memoryPressure) }

    /// The network is off.
    public func offline() async throws { try await ask(.offline) }

    /// The network is on.
    public func online() async throws { try await ask(.online) }

    /// The network is slow.
    public func slow(latency: Duration, bytesPerSecond: Int? = nil) async throws {
        try await ask(
            .slow(
                latencyMilliseconds: Int(latency.milliseconds), bytesPerSecond: bytesPerSecond))
    }

    /// The phone is plugged in.
    public func plugIn() async throws { try await ask(.power(isPluggedIn: true)) }

    /// The phone is unplugged.
    public func unplug() async throws { try await ask(.power(isPluggedIn: false)) }

    /// Low Power Mode is on, or off.
    public func lowPower(_ isOn: Bool) async throws { try await ask(.lowPower(isOn)) }

    /// A Focus is on, or off.
    public func focus(_ isOn: Bool) async throws { try await ask(.focus(isOn)) }

    /// The device restarts, and waits for its first unlock.
    public func restart() async throws { try await ask(.restart) }

    /// The user unlocks the device for the first time.
    public func unlock() async throws { try await ask(.unlock) }

    /// The network is paid for by volume, or not.
    public func metered(_ isMetered: Bool) async throws { try await ask(.metered(isMetered)) }

    /// Sets the free bytes of the disk; nil: those of the machine's disk.
    public func storage(_ bytes: Int64?) async throws { try await ask(.storage(bytes: bytes)) }

    /// Time passes at once.
    public func advance(by duration: Duration) async throws {
        try await ask(.advance(milliseconds: duration.milliseconds))
    }

    /// The calendar alone is set.
    public func setCalendar(by duration: Duration) async throws {
        try await ask(.setCalendar(byMilliseconds: duration.milliseconds))
    }

    /// The user allows notifications, or does not.
    public func permit(
        _ authorization: NotificationSettings.Authorization = .authorized, app: String? = nil
    ) async throws {
        try await ask(
            .permission(app: app, NotificationSettings(authorization: authorization)))
    }

    /// A remote push arrives: a payload and the headers that APNs takes.
    public func push(_ payload: String, headers: [String: String] = [:], app: String? = nil)
        async throws
    {
        try await ask(.push(app: app, payload: payload, headers: headers))
    }

    /// The system runs a task that the app has asked for.
    public func runBackground(_ task: String, app: String? = nil) async throws {
        try await ask(.runBackground(app: app, task: task))
    }

    /// The system takes the time in the background back.
    public func expireBackground(_ app: String? = nil) async throws {
        try await ask(.expireBackground(app: app))
    }

    /// The process of the app's web views dies.
    public func crashWebView(_ app: String? = nil) async throws {
        try await ask(.crashWebView(app: app))
    }
}
