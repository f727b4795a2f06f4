from tayet._tayet import Server
