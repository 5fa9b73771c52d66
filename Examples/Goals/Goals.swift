/// A person's goals, in a database of the app's own: the store of the demo's app, and an example of a `ReminderStore`.
public enum Goals {}
