// What an app's extensions link: nothing here, or in what it imports, is unavailable to one. On
// other systems than Apple's the module is empty.
