public import RepriseCore
import RepriseJournal
public import RepriseWire

/// What a person sets: it holds on this device at once, and the server is told as soon as it can be
/// reached.
///
/// ```swift
/// try await notices.mute(channel: general, until: tomorrow)
/// try await notices.setQuietHours(QuietHours(from: "22:00", to: "07:00", zone: "Europe/Berlin"))
/// try await notices.registered(pushToken: token)      // at each start, with what the system says
/// ```
///
/// Each of these is durable when it returns. What the server refuses is a dead letter, and holds on
/// this device.
extension Notices {
    /// What is set, as it holds on this device.
    public var settings: NoticeSettings { settingsDriver.board.value }

    /// What is set, then each change, also by another device; a slow reader gets the newest.
    public var settingsChanges: AsyncStream<NoticeSettings> { settingsDriver.board.watch() }

    /// Why the server could not be told of settings last; nil: it could, or nothing was tried.
    public var settingsFailure: RepriseError? { settingsDriver.lastFailure }

    /// Puts a channel aside, or changes until when.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - until: until then; nil: for ever.
    ///   - exceptMentions: whether what names the person comes through, where it is this device
    ///     that decides.
    /// - Throws: ``RepriseCore/RepriseError`` `.full` at ``NoticeLimits/mutes``, and as
    ///   ``RepriseJournal/Journal/write(_:)``.
    public func mute(
        channel: ChannelName, until: WallTime? = nil, exceptMentions: Bool = false
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

    /// Puts a person aside, in whatever channel they publish, or changes until when.
    ///
    /// - Parameters:
    ///   - person: the person.
    ///   - until: until then; nil: for ever.
    ///   - exceptMentions: whether what names the person who is signed in comes through, where it
    ///     is this device that decides.
    /// - Throws: ``RepriseCore/RepriseError`` `.full` at ``NoticeLimits/mutes``, and as
    ///   ``RepriseJournal/Journal/write(_:)``.
    public func mute(
        person: UserID, until: WallTime? = nil, exceptMentions: Bool = false
    ) async throws {
        try await settingsDriver.set(.person(person), Self.mute(until, exceptMentions))
    }

    /// Takes a person back.
    ///
    /// - Parameter person: the person; one who is not put aside is none already.
    /// - Throws: as ``RepriseJournal/Journal/write(_:)``.
    public func unmute(person: UserID) async throws {
        try await settingsDriver.set(.person(person), nil)
    }

    /// Sets the hours in which nothing should be heard.
    ///
    /// - Parameters:
    ///   - hours: which hours; nil: none.
    ///   - onThisDeviceAlone: whether they are of this device, where they come before those of the
    ///     person.
    /// - Throws: as ``RepriseJournal/Journal/write(_:)``.
    public func setQuietHours(_ hours: QuietHours?, onThisDeviceAlone: Bool = false) async throws {
        try await settingsDriver.set(
            onThisDeviceAlone ? .deviceQuiet : .quiet, hours.map { SettingValue($0) })
    }

    /// The system says where this device is reached by pushes.
    ///
    /// Call it at each start, with what the system says then: it may be another one than last time,
    /// and the server may have lost it.
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

    /// Tells the server what was set, until the task is cancelled.
    ///
    /// - Parameter server: how it is reached.
    package func runSettings(with server: NoticeServer) async { await settingsDriver.run(server) }

    /// There is a connection to the server, or none any more.
    ///
    /// With it what waits is told at once, and what was set elsewhere is asked for.
    package func connectionChanged(isOpen: Bool) {
        guard driver.scene.isConnected != isOpen else { return }
        driver.scene.isConnected = isOpen
        if isOpen { settingsDriver.connected() }
    }

    /// The person signs out: the server is to forget where this device is reached.
    ///
    /// It waits for that shortly. If the server cannot be told now, its pushes come until the next
    /// user of this device has registered it, or the system says that the token is no more.
    ///
    /// - Returns: whether the server has forgotten it, or never knew.
    @discardableResult
    package func leaveSettings() async -> Bool { await settingsDriver.leave() }
}
