public import RepriseCore
import RepriseJournal
public import RepriseWire

/// A person's settings: they apply on this device at once, and are sent to the server as soon as it
/// can be reached.
///
/// ```swift
/// try await notices.mute(channel: general, until: tomorrow)
/// try await notices.setQuietHours(QuietHours(from: "22:00", to: "07:00", zone: "Europe/Berlin"))
/// try await notices.registered(pushToken: token)      // at each start, with what the system says
/// ```
///
/// Each of these is durable when it returns. A setting that the server refuses is a dead letter,
/// and still applies on this device.
extension Notices {
    /// The settings, as they apply on this device.
    public var settings: NoticeSettings { settingsDriver.board.value }

    /// The settings, then each change, also from another device; a slow reader gets the newest.
    public var settingsChanges: AsyncStream<NoticeSettings> { settingsDriver.board.watch() }

    /// Why the last transfer of settings failed; nil: it succeeded, or none was tried.
    public var settingsFailure: RepriseError? { settingsDriver.lastFailure }

    /// Mutes a channel, or changes its end.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - until: the end; nil: for ever.
    ///   - exceptMentions: whether mentions of the signed-in user come through.
    /// - Throws: ``RepriseCore/RepriseError`` `.full` at ``NoticeLimits/mutes``, and as
    ///   ``RepriseJournal/Journal/write(_:)``.
    public func mute(
        channel: ChannelName, until: WallTime? = nil, exceptMentions: Bool = true
    ) async throws {
        try await settingsDriver.set(.channel(channel), Self.mute(until, exceptMentions))
    }

    /// Takes a channel back.
    ///
    /// - Parameter channel: the channel; one that is not put aside is none already.
    /// - Throws: as ``RepriseJournal/Journal/write(_:)``.
    public func unmute(channel: ChannelName) async throws {
        try await settingsDriver.set(.channel(channel), nil)
    }

    /// Mutes a person in all channels, or changes its end.
    ///
    /// - Parameters:
    ///   - person: the person.
    ///   - until: the end; nil: for ever.
    ///   - exceptMentions: whether mentions of the signed-in user come through.
    /// - Throws: ``RepriseCore/RepriseError`` `.full` at ``NoticeLimits/mutes``, and as
    ///   ``RepriseJournal/Journal/write(_:)``.
    public func mute(
        person: UserID, until: WallTime? = nil, exceptMentions: Bool = false
    ) async throws {
        try await settingsDriver.set(.person(person), Self.mute(until, exceptMentions))
    }

    /// Unmutes a person.
    ///
    /// - Parameter person: the person; does nothing without a mute.
    /// - Throws: as ``RepriseJournal/Journal/write(_:)``.
    public func unmute(person: UserID) async throws {
        try await settingsDriver.set(.person(person), nil)
    }

    /// Sets quiet hours.
    ///
    /// - Parameters:
    ///   - hours: the hours; nil: none.
    ///   - onThisDeviceAlone: whether they apply to this device, with precedence over the person's.
    /// - Throws: as ``RepriseJournal/Journal/write(_:)``.
    public func setQuietHours(_ hours: QuietHours?, onThisDeviceAlone: Bool = false) async throws {
        try await settingsDriver.set(
            onThisDeviceAlone ? .deviceQuiet : .quiet, hours.map { SettingValue($0) })
    }

    /// Sets whether notifications make no sound while the person is active on another device.
    ///
    /// Active is who has read there within the last two minutes. Notifications go into the list
    /// alone then; by default they ring.
    ///
    /// - Parameter isSilent: for all of the person's devices.
    /// - Throws: as ``RepriseJournal/Journal/write(_:)``.
    public func setSilentElsewhere(_ isSilent: Bool) async throws {
        try await settingsDriver.set(.elsewhere, isSilent ? .silent : nil)
    }

    /// Registers this device's push token.
    ///
    /// Call it at each start: the token may have changed, and the server may have lost it.
    ///
    /// - Parameter pushToken: as `didRegisterForRemoteNotificationsWithDeviceToken` has it.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`, and as
    ///   ``RepriseJournal/Journal/write(_:)``.
    public func registered(pushToken: [UInt8]) async throws {
        guard !pushToken.isEmpty else {
            throw RepriseError(
                .malformed, "A push token is not empty.",
                remedy: "Give the bytes that the system has given.")
        }
        guard pushToken.count <= NoticeLimits.pushTokenBytes else {
            throw RepriseError(
                .tooLarge, "A push token has at most \(NoticeLimits.pushTokenBytes) bytes.",
                remedy: "Give the bytes that the system has given.")
        }
        let digits = Array("0123456789abcdef".utf8)
        let token = pushToken.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        try await settingsDriver.set(
            .push,
            .push(platform: configuration.platform, token: String(decoding: token, as: UTF8.self)))
    }

    /// This device is not to be reached by pushes any more.
    ///
    /// - Throws: as ``RepriseJournal/Journal/write(_:)``.
    public func unregisterPush() async throws { try await settingsDriver.set(.push, nil) }

    private static func mute(_ until: WallTime?, _ exceptMentions: Bool) -> SettingValue {
        .mute(until: until?.milliseconds, exceptMentions: exceptMentions)
    }

    // MARK: For the facade

    /// Sends settings to the server, until the task is cancelled.
    ///
    /// - Parameter server: the server's API.
    package func runSettings(with server: NoticeServer) async { await settingsDriver.run(server) }

    /// The connection to the server was opened or closed.
    ///
    /// When it opens, pending settings are sent and those of other devices are read.
    package func connectionChanged(isOpen: Bool) {
        guard driver.scene.isConnected != isOpen else { return }
        driver.scene.isConnected = isOpen
        if isOpen { settingsDriver.connected() }
    }

    /// The person signs out: removes the push registration from the server.
    ///
    /// Waits for that only shortly. If the server cannot be reached, its pushes continue until the
    /// next user of this device has registered, or the system invalidates the token.
    ///
    /// - Returns: whether the server has removed it, or never had it.
    @discardableResult
    package func leaveSettings() async -> Bool { await settingsDriver.leave() }
}
