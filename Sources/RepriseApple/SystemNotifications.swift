// Not run by the project's own tests, which run on Linux; compiled only with UserNotifications.
#if canImport(UserNotifications) && !os(watchOS) && !os(tvOS)
    public import RepriseCore
    import RepriseExtension
    import UserNotifications

    /// The system's notification centre, `UNUserNotificationCenter`.
    ///
    /// ```swift
    /// let notifications = SystemNotifications()
    /// let request = NotificationRequest(id: "goal-1", content: content, trigger: trigger)
    /// try await notifications.add(request)
    /// ```
    public struct SystemNotifications: UserNotifications {
        private static let categories = CategoryRegistry()
        private var center: UNUserNotificationCenter { .current() }
        private let pictureHosts: Set<String>

        /// Makes one.
        ///
        /// - Parameter pictureHosts: the hosts from which senders' pictures are fetched, over
        ///   `https`; by default none. A message names the address: a host that is not the app's
        ///   own would learn the device's.
        public init(pictureHosts: Set<String> = []) { self.pictureHosts = pictureHosts }

        /// The person's current settings (`getNotificationSettings`).
        public func settings() async throws -> NotificationSettings {
            await withCheckedContinuation { continuation in
                center.getNotificationSettings {
                    continuation.resume(returning: NotificationSettings($0))
                }
            }
        }

        /// Asks the person, the first time.
        ///
        /// - Parameter provisional: does not ask, and delivers quietly.
        /// - Returns: whether it is allowed.
        /// - Throws: ``RepriseCore/RepriseError`` `.refused`.
        public func requestAuthorization(provisional: Bool) async throws -> Bool {
            var options: UNAuthorizationOptions = [.alert, .badge, .sound]
            if provisional { options.insert(.provisional) }
            return try await withCheckedThrowingContinuation { continuation in
                center.requestAuthorization(options: options) { isAllowed, error in
                    if let error { return continuation.resume(throwing: Self.refused(error)) }
                    continuation.resume(returning: isAllowed)
                }
            }
        }

        /// Adds a request, or replaces the one of the same id.
        ///
        /// - Parameter request: content and trigger.
        /// - Throws: ``RepriseCore/RepriseError`` `.refused`.
        public func add(_ request: NotificationRequest) async throws {
            let picture = await PictureFetch(from: pictureHosts, by: PictureFetch.transport)
                .picture(request.content.conversation?.picture)
            let system = try UNNotificationRequest(request, picture: picture)
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                center.add(system) { error in
                    if let error { return continuation.resume(throwing: Self.refused(error)) }
                    continuation.resume()
                }
            }
        }

        /// The requests that have not fired.
        public func pending() async throws -> [NotificationRequest] {
            await withCheckedContinuation { continuation in
                center.getPendingNotificationRequests {
                    continuation.resume(returning: $0.map(NotificationRequest.init))
                }
            }
        }

        /// The notifications in the notification centre.
        public func delivered() async throws -> [DeliveredNotification] {
            await withCheckedContinuation { continuation in
                center.getDeliveredNotifications {
                    continuation.resume(returning: $0.map(DeliveredNotification.init))
                }
            }
        }

        /// Removes pending requests; returns when they are removed.
        public func removePending(_ ids: [String]) async throws {
            center.removePendingNotificationRequests(withIdentifiers: ids)
            // It removes later, and not at all if the app is suspended before: what is asked after
            // it is answered after it.
            _ = try await pending()
        }

        /// Removes notifications from the notification centre; returns when they are removed.
        public func removeDelivered(_ ids: [String]) async throws {
            center.removeDeliveredNotifications(withIdentifiers: ids)
            _ = try await delivered()  // as above
        }

        /// Sets the number on the icon.
        ///
        /// - Parameter count: 0 removes it.
        /// - Throws: ``RepriseCore/RepriseError`` `.refused`.
        public func setBadge(_ count: Int) async throws {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                center.setBadgeCount(count) { error in
                    if let error { return continuation.resume(throwing: Self.refused(error)) }
                    continuation.resume()
                }
            }
        }

        /// Replaces the categories that the last call has set; those of others stay, but for one of
        /// the same id.
        ///
        /// Calls follow each other. What sets categories beside it, between the reading of the
        /// present ones and the setting, may be lost: set them before.
        public func setCategories(_ categories: [NotificationCategory]) async throws {
            await Self.categories.set(categories) { [center] in
                await withCheckedContinuation { continuation in
                    center.getNotificationCategories {
                        continuation.resume(returning: $0.map(PresentCategory.init))
                    }
                }
            } id: {
                $0.category.identifier
            } write: { [center] kept, new in
                center.setNotificationCategories(
                    Set(kept.map(\.category) + new.map { UNNotificationCategory($0) }))
            }
        }

        private static func refused(_ error: any Error) -> RepriseError {
            RepriseError(.refused, "The notification centre refuses it.", cause: error)
        }
    }

    /// A category that the system has told; nobody changes it.
    private struct PresentCategory: @unchecked Sendable {
        let category: UNNotificationCategory
    }
#endif
