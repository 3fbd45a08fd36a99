CREATE TABLE `floe_definition` (
  `realm` varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `name` varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `definition` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `writes` bigint(20) unsigned NOT NULL DEFAULT 0,
  PRIMARY KEY (`realm`,`name`)
) ENGINE=InnoDB;
INSERT INTO `floe_definition` VALUES ('lost','orders','segment increment=1 offset=1',0);
INSERT INTO `floe_definition` VALUES ('other','orders','segment increment=1 offset=1',0);
INSERT INTO `floe_definition` VALUES ('test','codes','counter form base62',0);
INSERT INTO `floe_definition` VALUES ('test','eaten','segment increment=1 offset=1',0);
INSERT INTO `floe_definition` VALUES ('test','flakes','snowflake time:41 datacenter:5 worker:5 sequence:12 tick=1ms epoch=2010-11-04T01:42:54.657Z',0);
INSERT INTO `floe_definition` VALUES ('test','orders','segment increment=1 offset=1',0);
INSERT INTO `floe_definition` VALUES ('test','texts','ulid',0);
INSERT INTO `floe_definition` VALUES ('test','visits','counter',0);
INSERT INTO `floe_definition` VALUES ('test','订单','segment increment=1 offset=1',0);
CREATE TABLE `floe_made` (
  `realm` varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` varchar(160) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `made_by` binary(16) NOT NULL,
  PRIMARY KEY (`realm`,`key`)
) ENGINE=InnoDB;
INSERT INTO `floe_made` VALUES ('test','n/visits',0xC23B2A289F25B03748CC04FCAF101C8D);
INSERT INTO `floe_made` VALUES ('test','s/10/1',0x44FDD06A720D102D6183F7C575FC74D6);
INSERT INTO `floe_made` VALUES ('test','s/10/1000',0xAC75DC9257D7F0AC1310E04A66E45E41);
INSERT INTO `floe_made` VALUES ('test','s/10/961',0x7E348F79A0E4F182CAAF305746B927C1);
CREATE TABLE `floe_mark` (
  `realm` varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` varchar(160) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `previous` bigint(20) NOT NULL CHECK (`previous` >= 0),
  `start` bigint(20) NOT NULL CHECK (`start` >= 0),
  `mark` bigint(20) NOT NULL CHECK (`mark` >= 0),
  `token` binary(16) DEFAULT NULL,
  `note` varchar(1024) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `writes` bigint(20) unsigned NOT NULL DEFAULT 0,
  PRIMARY KEY (`realm`,`key`)
) ENGINE=InnoDB;
INSERT INTO `floe_mark` VALUES ('lost','n/orders',0,0,0,NULL,NULL,0);
INSERT INTO `floe_mark` VALUES ('other','n/orders',0,0,0,NULL,NULL,0);
INSERT INTO `floe_mark` VALUES ('test','n/codes',0,0,0,NULL,NULL,0);
INSERT INTO `floe_mark` VALUES ('test','n/orders',0,0,1,NULL,NULL,2);
INSERT INTO `floe_mark` VALUES ('test','n/visits',1,1,8,0x30313233343536373839616263646566,NULL,2);
INSERT INTO `floe_mark` VALUES ('test','n/订单',0,0,1,NULL,NULL,2);
INSERT INTO `floe_mark` VALUES ('test','s/10/1',0,9223372036854775802,9223372036854775807,0x30313233343536373839616263646566,'a\\b\nc\rd \'e\'',1);
INSERT INTO `floe_mark` VALUES ('test','s/10/961',0,1795578867487,1795578867489,NULL,'host=db-1 boot=74f9d894 pid=11984 started=231129 version=0.1.0 instance= since=2026-11-23T19:37:40.753Z',2);
CREATE TABLE `floe_realm` (
  `realm` varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `id` char(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`realm`)
) ENGINE=InnoDB;
INSERT INTO `floe_realm` VALUES ('other','43a445834f5b9d91507e7d758330e78e');
INSERT INTO `floe_realm` VALUES ('test','e817d05271cd2fcbcec455130ad9b700');
CREATE TABLE `floe_version` (
  `version` int(11) NOT NULL,
  `one` tinyint(4) NOT NULL DEFAULT 1 CHECK (`one` = 1),
  PRIMARY KEY (`one`)
) ENGINE=InnoDB;
INSERT INTO `floe_version` VALUES (2,1);
